#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace belljar {
namespace {

TEST(ErrorCode, EveryCodeHasANameOfItsOwn) {
    std::set<std::string_view> names;
    const int last = static_cast<int>(ErrorCode::Internal);
    for (int code = 0; code <= last; ++code) {
        const std::string_view name = name_of(static_cast<ErrorCode>(code));
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
}

TEST(Error, DescribesEverythingThatIsKnown) {
    EXPECT_EQ((Error{.code = ErrorCode::Denied, .message = "no"}.describe()), "no");
    EXPECT_EQ((Error{.message = "no", .sys_errno = ENOENT, .where = "open"}.describe()),
              "no: open: No such file or directory");
    EXPECT_EQ((Error{.sys_errno = EPERM, .where = "mount"}.describe()),
              "mount: Operation not permitted");
}

TEST(SystemError, ReadsErrno) {
    errno = EACCES;
    const Error error = system_error("open");
    EXPECT_EQ(error.code, ErrorCode::SystemCall);
    EXPECT_EQ(error.sys_errno, EACCES);
    EXPECT_EQ(error.where, "open");
    EXPECT_EQ(system_error("open", EIO).sys_errno, EIO);
}

TEST(SystemError, MessageHasNothingOfTheHost) {
    const Error error = system_error("open /etc/shadow", EACCES);
    EXPECT_EQ(error.message.find('/'), std::string::npos);
    EXPECT_EQ(error.message.find("Permission"), std::string::npos);
}

}  // namespace
}  // namespace belljar
