#include "execution/result.h"

#include <gtest/gtest.h>

#include <set>

namespace belljar::execution {
namespace {

TEST(Status, HasTheNamesOfTheResultRecord) {
    EXPECT_EQ(name_of(Status::Ok), "ok");
    EXPECT_EQ(name_of(Status::Error), "error");
    EXPECT_EQ(name_of(Status::Timeout), "timeout");
    EXPECT_EQ(name_of(Status::Memory), "memory");
    EXPECT_EQ(name_of(Status::Processes), "processes");
    EXPECT_EQ(name_of(Status::Disk), "disk");
    EXPECT_EQ(name_of(Status::Output), "output");
    EXPECT_EQ(name_of(Status::Killed), "killed");
    EXPECT_EQ(name_of(Status::Denied), "denied");
    EXPECT_EQ(name_of(Status::Cancelled), "cancelled");
}

TEST(Status, EveryNameIsDifferent) {
    std::set<std::string_view> names;
    for (int status = 0; status <= static_cast<int>(Status::Cancelled); ++status) {
        EXPECT_TRUE(names.insert(name_of(static_cast<Status>(status))).second);
    }
}

TEST(OutputStream, NamesAreThoseOfTheRecord) {
    EXPECT_EQ(name_of(OutputStream::Stdout), "stdout");
    EXPECT_EQ(name_of(OutputStream::Stderr), "stderr");
}

TEST(DenialSource, NamesAreThoseOfTheRecord) {
    EXPECT_EQ(name_of(DenialSource::Limit), "limit");
    EXPECT_EQ(name_of(DenialSource::Kernel), "kernel");
    EXPECT_EQ(name_of(DenialSource::Guest), "guest");
}

TEST(RunResult, SucceedsOnlyWithStatusOk) {
    for (int status = 0; status <= static_cast<int>(Status::Cancelled); ++status) {
        const RunResult result{.status = static_cast<Status>(status)};
        EXPECT_EQ(result.success(), result.status == Status::Ok);
    }
    EXPECT_FALSE(RunResult{}.success());
}

}  // namespace
}  // namespace belljar::execution
