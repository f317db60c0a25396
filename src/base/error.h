#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace belljar {

// Why our own machinery could not do what was asked. The list is closed: execution/error_wire.cpp
// says each code on each wire, and nothing else may.
// What became of a guest program is never an Error; it is an execution::RunResult.
enum class ErrorCode {
    InvalidArgument,  // the caller sent something malformed or out of range
    NotFound,         // the named thing does not exist, or not for this caller
    Unauthenticated,  // no valid credentials
    Denied,           // policy or an access rule refuses
    TooLarge,         // over a size limit
    QuotaReached,     // the caller's own share is used up; trying again later can help
    Overloaded,       // a bounded queue is full; trying again later can help
    Unavailable,      // a part we need is gone or shutting down
    Unsupported,      // understood, but this installation cannot do it
    Conflict,         // somebody else holds the resource
    Precondition,     // it is not (any more) what the caller took it for
    StorageFull,      // no room on the server's disk
    Cancelled,        // the caller went away
    SystemCall,       // the kernel refused; sys_errno says why
    Internal,         // a state that should not occur
};

[[nodiscard]] std::string_view name_of(ErrorCode code);

// `message` may reach a client: no host paths, no errno text. `where` names the step or system call
// and `sys_errno` the kernel's reason; both are for logs and for the person at the terminal.
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string message{};
    int sys_errno = 0;
    std::string where{};
    std::chrono::seconds retry_after{};  // when trying again can help; zero: nobody knows

    // One line for logs and terminals, with everything known.
    [[nodiscard]] std::string describe() const;
};

// An Error for a failed system call; reads errno, so call it right after the failure.
[[nodiscard]] Error system_error(std::string_view where);
[[nodiscard]] Error system_error(std::string_view where, int sys_errno);

}  // namespace belljar
