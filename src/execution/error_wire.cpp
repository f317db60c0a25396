#include "execution/error_wire.h"

namespace belljar::execution {

unsigned http_status(ErrorCode code) {
    switch (code) {
        case ErrorCode::InvalidArgument:
            return 400;
        case ErrorCode::Unauthenticated:
            return 401;
        case ErrorCode::Denied:
            return 403;
        case ErrorCode::NotFound:
            return 404;
        case ErrorCode::Conflict:
            return 409;
        case ErrorCode::Precondition:
            return 412;
        case ErrorCode::TooLarge:
            return 413;
        case ErrorCode::Unsupported:
            return 422;
        case ErrorCode::QuotaReached:
            return 429;
        case ErrorCode::Overloaded:
        case ErrorCode::Unavailable:
            return 503;
        case ErrorCode::Cancelled:
            return 499;
        case ErrorCode::StorageFull:
            return 507;
        case ErrorCode::SystemCall:
        case ErrorCode::Internal:
            return 500;
    }
    return 500;
}

int json_rpc_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::InvalidArgument:
        case ErrorCode::NotFound:
        case ErrorCode::Unsupported:
        case ErrorCode::TooLarge:
            return -32602;
        case ErrorCode::Unauthenticated:
        case ErrorCode::Denied:
        case ErrorCode::QuotaReached:
        case ErrorCode::Overloaded:
        case ErrorCode::Unavailable:
        case ErrorCode::Conflict:
        case ErrorCode::Precondition:
        case ErrorCode::StorageFull:
        case ErrorCode::Cancelled:
        case ErrorCode::SystemCall:
        case ErrorCode::Internal:
            return -32603;
    }
    return -32603;
}

std::string client_message(const Error& error) {
    if (error.code == ErrorCode::SystemCall || error.code == ErrorCode::Internal) {
        return "Belljar could not do this because of a fault of its own; the server's log says "
               "why.";
    }
    return error.message;
}

}  // namespace belljar::execution
