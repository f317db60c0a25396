#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace belljar {
namespace {

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

bool is_close_on_exec(const Fd& fd) { return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0; }

TEST(Fd, ClosesWhatItOwns) {
    int number = -1;
    {
        const Pipe pipe = make_pipe().value();
        number = pipe.read_end.get();
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Fd, MovesOwnership) {
    Pipe pipe = make_pipe().value();
    const int first = pipe.read_end.get();
    const int second = pipe.write_end.get();
    Fd taken = std::move(pipe.read_end);
    EXPECT_FALSE(pipe.read_end.valid());
    EXPECT_EQ(taken.get(), first);
    taken = std::move(pipe.write_end);
    EXPECT_FALSE(is_open(first));
    EXPECT_EQ(taken.get(), second);
    Fd& same = taken;
    taken = std::move(same);
    EXPECT_TRUE(is_open(second));
}

TEST(Fd, ReleaseGivesTheDescriptorUp) {
    Pipe pipe = make_pipe().value();
    const int number = pipe.read_end.release();
    EXPECT_FALSE(pipe.read_end.valid());
    EXPECT_TRUE(is_open(number));
    EXPECT_EQ(::close(number), 0);
}

TEST(Fd, ResetTwiceClosesOnce) {
    Pipe pipe = make_pipe().value();
    pipe.read_end.reset();
    pipe.read_end.reset();
    EXPECT_FALSE(pipe.read_end.valid());
    EXPECT_FALSE(Fd().valid());
}

// In a child, because it changes the standard descriptors.
TEST(OpenMissingStandardDescriptors, FillsOnlyTheGaps) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::close(STDIN_FILENO);
        ::close(STDOUT_FILENO);
        struct stat before{};
        struct stat after{};
        ::fstat(STDERR_FILENO, &before);
        const bool opened = open_missing_standard_descriptors().has_value();
        ::fstat(STDERR_FILENO, &after);
        const bool kept = before.st_ino == after.st_ino && before.st_dev == after.st_dev;
        const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        const bool filled = is_open(STDIN_FILENO) && is_open(STDOUT_FILENO) && next.get() > 2;
        ::_exit(opened && kept && filled ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(MakePipe, CarriesBytesAndIsNotInherited) {
    Pipe pipe = make_pipe().value();
    EXPECT_TRUE(is_close_on_exec(pipe.read_end));
    EXPECT_TRUE(is_close_on_exec(pipe.write_end));
    ASSERT_TRUE(write_all(pipe.write_end, "through"));
    pipe.write_end.reset();
    EXPECT_EQ(read_all(pipe.read_end, kibibytes(1)).value(), "through");
}

TEST(MakeSealedFile, HoldsItsContentFromTheBeginning) {
    const Fd file = make_sealed_file("test", "content").value();
    EXPECT_TRUE(is_close_on_exec(file));
    EXPECT_EQ(read_all(file, kibibytes(1)).value(), "content");
    EXPECT_EQ(read_all(make_sealed_file("empty", "").value(), kibibytes(1)).value(), "");
}

TEST(MakeSealedFile, CannotBeWrittenGrownOrShrunk) {
    const Fd file = make_sealed_file("test", "content").value();
    EXPECT_EQ(write_all(file, "x").error().sys_errno, EPERM);
    EXPECT_EQ(::ftruncate(file.get(), 0), -1);
    EXPECT_EQ(::ftruncate(file.get(), 100), -1);
    EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0), MAP_FAILED);
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    const Fd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_TRUE(!again.valid() || !write_all(again, "x"));
}

TEST(MakeSealedFile, EachHasAnInodeOfItsOwn) {
    const Fd first = make_sealed_file("same", "same").value();
    const Fd second = make_sealed_file("same", "same").value();
    struct stat first_status{};
    struct stat second_status{};
    ASSERT_EQ(::fstat(first.get(), &first_status), 0);
    ASSERT_EQ(::fstat(second.get(), &second_status), 0);
    EXPECT_NE(first_status.st_ino, second_status.st_ino);
}

TEST(WriteAll, WritesMoreThanAPipeHolds) {
    Pipe pipe = make_pipe().value();
    const std::string data(1 << 20U, 'd');
    Result<std::string> received = std::string();
    std::thread reader([&] { received = read_all(pipe.read_end, mebibytes(2)); });
    EXPECT_TRUE(write_all(pipe.write_end, data));
    pipe.write_end.reset();
    reader.join();
    EXPECT_TRUE(received.value() == data);
}

TEST(WriteAll, ReportsAClosedReader) {
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    Pipe pipe = make_pipe().value();
    pipe.read_end.reset();
    EXPECT_EQ(write_all(pipe.write_end, "x").error().sys_errno, EPIPE);
    EXPECT_TRUE(write_all(pipe.write_end, ""));
    ::signal(SIGPIPE, before);
}

TEST(WriteAll, WaitsForRoomUntilItIsStopped) {
    const Pipe pipe = make_pipe().value();
    const Pipe stop = make_pipe().value();
    std::thread stopper([&] {
        pollfd full{.fd = pipe.write_end.get(), .events = POLLOUT, .revents = 0};
        while (::poll(&full, 1, 0) == 1) {
        }
        EXPECT_TRUE(write_all(stop.write_end, "x"));
    });
    const std::string data(1 << 20U, 'd');
    const Result<void> written = write_all({.fd = pipe.write_end, .stop = stop.read_end}, data);
    stopper.join();
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(::fcntl(pipe.write_end.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(WriteAll, WritesWhatHasRoomAfterItIsStopped) {
    Pipe pipe = make_pipe().value();
    const Pipe stop = make_pipe().value();
    ASSERT_TRUE(write_all(stop.write_end, "x"));
    EXPECT_TRUE(write_all({.fd = pipe.write_end, .stop = stop.read_end}, "text"));
    pipe.write_end.reset();
    EXPECT_EQ(read_all(pipe.read_end, kibibytes(1)).value(), "text");
}

TEST(WriteAll, WritesMoreThanAPipeHoldsWhereNobodyStops) {
    Pipe pipe = make_pipe().value();
    const std::string data(1 << 20U, 'd');
    Result<std::string> received = std::string();
    std::thread reader([&] { received = read_all(pipe.read_end, mebibytes(2)); });
    EXPECT_TRUE(write_all({.fd = pipe.write_end, .stop = Fd()}, data));
    pipe.write_end.reset();
    reader.join();
    EXPECT_TRUE(received.value() == data);
}

TEST(WriteAll, ReportsAClosedReaderWhileItWaitsForRoom) {
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    Pipe pipe = make_pipe().value();
    pipe.read_end.reset();
    const Result<void> written = write_all({.fd = pipe.write_end, .stop = Fd()}, "x");
    EXPECT_EQ(written.error().sys_errno, EPIPE);
    ::signal(SIGPIPE, before);
}

TEST(ReadAll, TakesExactlyTheLimitAndNotMore) {
    EXPECT_TRUE(read_all(make_sealed_file("a", std::string(1024, 'x')).value(), kibibytes(1)));
    const Result<std::string> more =
        read_all(make_sealed_file("a", std::string(1025, 'x')).value(), kibibytes(1));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::TooLarge);
    EXPECT_FALSE(read_all(make_sealed_file("a", "x").value(), Bytes{0}));
    EXPECT_TRUE(read_all(make_sealed_file("a", "").value(), Bytes{0}));
}

TEST(ReadAll, ReportsAnUnreadableDescriptor) {
    const Pipe pipe = make_pipe().value();
    EXPECT_EQ(read_all(pipe.write_end, kibibytes(1)).error().sys_errno, EBADF);
    EXPECT_EQ(read_all(Fd(), kibibytes(1)).error().sys_errno, EBADF);
}

TEST(ReadFile, ReadsUpToTheLimit) {
    EXPECT_TRUE(read_file("/proc/self/status", mebibytes(1)));
    EXPECT_EQ(read_file("/proc/self/status", Bytes{3}).error().code, ErrorCode::TooLarge);
    EXPECT_EQ(read_file("/dev/zero", kibibytes(64)).error().code, ErrorCode::TooLarge);
}

TEST(ReadFile, SaysWhyAFileCannotBeRead) {
    EXPECT_EQ(read_file("/nowhere/at/all", kibibytes(1)).error().sys_errno, ENOENT);
    EXPECT_EQ(read_file("/", kibibytes(1)).error().sys_errno, EISDIR);
    EXPECT_EQ(read_file("", kibibytes(1)).error().sys_errno, ENOENT);
}

TEST(PidFd, WaitsForItsChild) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::_exit(7);
    }
    const PidFd process = PidFd::open(child).value();
    EXPECT_EQ(process.pid(), child);
    EXPECT_TRUE(is_close_on_exec(process.fd()));
    const int status = process.wait().value();
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(process.wait().error().sys_errno, ECHILD);
}

TEST(PidFd, TakesNobodyElsesWordForAChild) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::_exit(3);
    }
    const Result<PidFd> own = PidFd::open_child(child);
    ASSERT_TRUE(own);
    EXPECT_TRUE(own->wait());
    for (const pid_t other : {child, ::getpid(), ::getppid(), pid_t{-1}}) {
        EXPECT_FALSE(PidFd::open_child(other)) << other;
    }
}

TEST(PidFd, SignalsItsChildAndOnlyThat) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const PidFd process = PidFd::open(child).value();
    EXPECT_TRUE(process.signal(SIGKILL));
    EXPECT_EQ(WTERMSIG(process.wait().value()), SIGKILL);
    EXPECT_EQ(process.signal(SIGKILL).error().sys_errno, ESRCH);
    EXPECT_FALSE(PidFd().valid());
    EXPECT_FALSE(PidFd::open(-1));
}

}  // namespace
}  // namespace belljar
