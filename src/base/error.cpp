#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace belljar {

std::string_view name_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::InvalidArgument:
            return "invalid_argument";
        case ErrorCode::NotFound:
            return "not_found";
        case ErrorCode::Unauthenticated:
            return "unauthenticated";
        case ErrorCode::Denied:
            return "denied";
        case ErrorCode::TooLarge:
            return "too_large";
        case ErrorCode::QuotaReached:
            return "quota_reached";
        case ErrorCode::Overloaded:
            return "overloaded";
        case ErrorCode::Unavailable:
            return "unavailable";
        case ErrorCode::Unsupported:
            return "unsupported";
        case ErrorCode::Conflict:
            return "conflict";
        case ErrorCode::Precondition:
            return "precondition_failed";
        case ErrorCode::StorageFull:
            return "storage_full";
        case ErrorCode::Cancelled:
            return "cancelled";
        case ErrorCode::SystemCall:
            return "system_call";
        case ErrorCode::Internal:
            return "internal";
    }
    return "internal";
}

std::string Error::describe() const {
    std::string text = message;
    if (!where.empty()) {
        text += (text.empty() ? "" : ": ") + where;
    }
    if (sys_errno != 0) {
        const char* const reason = strerrordesc_np(sys_errno);
        text += ": " + (reason == nullptr ? std::to_string(sys_errno) : std::string(reason));
    }
    return text;
}

Error system_error(std::string_view where) { return system_error(where, errno); }

Error system_error(std::string_view where, int sys_errno) {
    return Error{.code = ErrorCode::SystemCall,
                 .message = "a system call failed",
                 .sys_errno = sys_errno,
                 .where = std::string(where)};
}

}  // namespace belljar
