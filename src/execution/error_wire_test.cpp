#include "execution/error_wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

namespace belljar::execution {
namespace {

struct Row {
    ErrorCode code;
    unsigned http;
    int json_rpc;
};

constexpr int kInvalidParams = -32602;
constexpr int kInternalError = -32603;

constexpr std::array<Row, 15> kRows{{{ErrorCode::InvalidArgument, 400, kInvalidParams},
                                     {ErrorCode::NotFound, 404, kInvalidParams},
                                     {ErrorCode::Unauthenticated, 401, kInternalError},
                                     {ErrorCode::Denied, 403, kInternalError},
                                     {ErrorCode::TooLarge, 413, kInvalidParams},
                                     {ErrorCode::QuotaReached, 429, kInternalError},
                                     {ErrorCode::Overloaded, 503, kInternalError},
                                     {ErrorCode::Unavailable, 503, kInternalError},
                                     {ErrorCode::Unsupported, 422, kInvalidParams},
                                     {ErrorCode::Conflict, 409, kInternalError},
                                     {ErrorCode::Precondition, 412, kInternalError},
                                     {ErrorCode::StorageFull, 507, kInternalError},
                                     {ErrorCode::Cancelled, 499, kInternalError},
                                     {ErrorCode::SystemCall, 500, kInternalError},
                                     {ErrorCode::Internal, 500, kInternalError}}};

TEST(ErrorWire, SaysEveryCodeOnEveryWire) {
    static_assert(kRows.size() == static_cast<std::size_t>(ErrorCode::Internal) + 1);
    for (const Row& row : kRows) {
        EXPECT_EQ(http_status(row.code), row.http) << name_of(row.code);
        EXPECT_EQ(json_rpc_code(row.code), row.json_rpc) << name_of(row.code);
    }
}

TEST(ErrorWire, GivesTheClientTheMessageOfARefusal) {
    EXPECT_EQ(client_message({.code = ErrorCode::InvalidArgument, .message = "\"code\" is needed"}),
              "\"code\" is needed");
    EXPECT_EQ(client_message({.code = ErrorCode::Overloaded, .message = "try again"}), "try again");
}

TEST(ErrorWire, NeverShowsWhereOrErrno) {
    for (const Row& row : kRows) {
        const std::string message = client_message({.code = row.code,
                                                    .message = "said",
                                                    .sys_errno = EACCES,
                                                    .where = "open /srv/secret"});
        EXPECT_EQ(message.find("/srv"), std::string::npos) << name_of(row.code);
        EXPECT_EQ(message.find("Permission denied"), std::string::npos) << name_of(row.code);
    }
}

TEST(ErrorWire, HidesEverythingAboutAFaultOfOurOwn) {
    for (const ErrorCode code : {ErrorCode::SystemCall, ErrorCode::Internal}) {
        const std::string message = client_message({.code = code, .message = "state of /srv/x"});
        EXPECT_EQ(message.find("/srv"), std::string::npos);
        EXPECT_FALSE(message.empty());
    }
}

}  // namespace
}  // namespace belljar::execution
