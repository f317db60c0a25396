#include "engine/guest_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <filesystem>

#include "base/id.h"

namespace belljar::engine {
namespace {

using isolation::GuestFd;

// The test plays the guest: it holds the other ends.
class GuestIoTest : public testing::Test {
   protected:
    void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }  // as the server does
    void TearDown() override {
        for (Fd& end : ends) {
            end.reset();
        }
        settle();
        io.reset();
        if (!place.empty()) {
            std::filesystem::remove_all(place);
        }
        ::signal(SIGPIPE, SIG_DFL);
    }

    void start(std::string stdin_text, LiveStreams live = {}) {
        io.emplace(GuestIo::create(context.get_executor(), limits).value());
        ends = io->take_guest_ends(make_sealed_file("program", "the program").value());
        io->on_flood([this] { ++floods; });
        if (masked.any()) {
            io->mask(masked);
        }
        if (store) {
            io->keep_in(store->record({id}, limits.output_file));
        }
        GuestInput input{.request = request, .stdin_text = std::move(stdin_text)};
        asio::co_spawn(context, io->pump(std::move(input), std::move(live)),
                       [this](const std::exception_ptr& failure) {
                           EXPECT_FALSE(failure);
                           ended = true;
                       });
        settle();
    }

    void settle() {
        context.restart();
        context.poll();
    }

    Fd& end(GuestFd fd) { return ends[static_cast<std::size_t>(fd)]; }

    void write(GuestFd fd, std::string_view text) {
        while (!text.empty()) {
            const std::string_view part = text.substr(0, 32 * 1024);
            ASSERT_TRUE(write_all(end(fd), part));
            text.remove_prefix(part.size());
            settle();
        }
    }

    void close_outputs() {
        for (const GuestFd fd : {GuestFd::Stdout, GuestFd::Stderr, GuestFd::Report}) {
            end(fd).reset();
        }
        settle();
    }

    void open_store() {
        std::string name = (std::filesystem::temp_directory_path() / "guest-io-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        const Fd data(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store = storage::OutputStore::open(data, {}).value();
    }

    std::string kept(OutputStream stream) {
        const Result<storage::OpenStream> opened = store->open_stream({id}, stream);
        return opened ? read_all(opened->file, mebibytes(64)).value() : "(nothing)";
    }

    asio::io_context context;
    execution::Limits limits;
    std::string request = "the request";
    std::filesystem::path place;
    std::string id = make_uuid();
    std::unique_ptr<storage::OutputStore> store;
    std::optional<GuestIo> io;
    std::array<Fd, isolation::kGuestFdCount> ends;
    privacy::TypeSet masked;
    int floods = 0;
    bool ended = false;
};

TEST_F(GuestIoTest, TakesTheLineAheadOfTheReport) {
    std::vector<std::string> lines;
    start("");
    io->on_reading([&](std::string_view line) { lines.emplace_back(line); });
    write(GuestFd::Report, "\n{\"findings\"");
    EXPECT_TRUE(lines.empty());
    write(GuestFd::Report, ": []}\n{\"a\": 1}\nbytes\n");
    EXPECT_EQ(lines, std::vector<std::string>{"{\"findings\": []}"}) << "as soon as it is there";
    close_outputs();
    EXPECT_EQ(io->report(), "\n{\"a\": 1}\nbytes\n");
    EXPECT_EQ(lines.size(), 1U);
}

TEST_F(GuestIoTest, GivesTheGuestItsProgramAndRequest) {
    start("");
    for (const Fd& fd : ends) {
        EXPECT_TRUE(fd.valid());
        EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
    }
    EXPECT_EQ(read_all(end(GuestFd::Program), kibibytes(1)).value(), "the program");
    EXPECT_EQ(read_all(end(GuestFd::Request), kibibytes(1)).value(), "the request");
    EXPECT_FALSE(write_all(end(GuestFd::Program), "x"));
    EXPECT_FALSE(write_all(end(GuestFd::Request), "x"));
}

TEST_F(GuestIoTest, ALongRequestIsHandedOverAsItIsRead) {
    request = std::string(12 << 20U, 'r');
    start("input");
    write(GuestFd::Stdout, "before");
    std::string received;
    std::vector<char> buffer(1 << 20U);
    for (ssize_t count = 1; count > 0; settle()) {
        count = ::read(end(GuestFd::Request).get(), buffer.data(), buffer.size());
        ASSERT_GE(count, 0);
        received.append(buffer.data(), static_cast<std::size_t>(count));
    }
    EXPECT_TRUE(received == request);
    EXPECT_EQ(read_all(end(GuestFd::Stdin), kibibytes(1)).value(), "input");
    close_outputs();
    EXPECT_TRUE(ended);
    EXPECT_EQ(io->captured_stdout().text, "before");
}

TEST_F(GuestIoTest, ALineThatComesBeforeItsOrderIsWrittenBehindIt) {
    io.emplace(GuestIo::create(context.get_executor(), limits).value());
    ends = io->take_guest_ends(make_sealed_file("program", "the program").value());
    const std::string order = std::string(1 << 20U, 'o') + "\n";  // more than the pipe holds
    io->begin_cell(limits);
    EXPECT_TRUE(io->interject("stop\n"));
    asio::co_spawn(context, io->converse(order, {}),
                   [this](const std::exception_ptr& failure, bool answered) {
                       EXPECT_FALSE(failure);
                       EXPECT_FALSE(answered);
                       ended = true;
                   });
    settle();
    EXPECT_TRUE(io->interject("again\n"));
    const std::string expected = order + "stop\nagain\n";
    std::string received;
    std::vector<char> buffer(1 << 16U);
    while (received.size() < expected.size()) {
        const ssize_t count = ::read(end(GuestFd::Request).get(), buffer.data(), buffer.size());
        ASSERT_GT(count, 0);
        received.append(buffer.data(), static_cast<std::size_t>(count));
        settle();
    }
    EXPECT_TRUE(received == expected);
    end(GuestFd::Request).reset();
    EXPECT_FALSE(io->interject("nobody reads this\n"));
    close_outputs();
    EXPECT_TRUE(ended);
}

TEST_F(GuestIoTest, AGuestThatDoesNotReadItsRequestCanEnd) {
    request = std::string(12 << 20U, 'r');
    start("");
    end(GuestFd::Request).reset();
    settle();
    EXPECT_FALSE(ended);
    close_outputs();
    EXPECT_TRUE(ended);
    ended = false;
    start("");
    close_outputs();
    EXPECT_TRUE(ended) << "with the request's other end still open";
}

// A guest that was made before there was a request.
class ReadyGuestTest : public GuestIoTest {
   protected:
    void SetUp() override {
        GuestIoTest::SetUp();
        limits.output = Bytes{1};
        io.emplace(GuestIo::create(context.get_executor(), limits).value());
        ends = io->take_guest_ends(make_sealed_file("program", "the program").value());
        std::optional<bool> came;
        asio::co_spawn(context, io->await_sign(),
                       [&](const std::exception_ptr&, bool sign) { came = sign; });
        settle();
        EXPECT_FALSE(came);
        write(GuestFd::Report, "\n");
        EXPECT_EQ(came, true);
        limits.output = Bytes{1000};
        io->set_limits(limits);
    }

    void begin(GuestInput input) {
        asio::co_spawn(context, io->pump(std::move(input), {}),
                       [this](const std::exception_ptr&) { ended = true; });
        settle();
    }
};

TEST_F(ReadyGuestTest, IsHandedItsRequestAfterItsSign) {
    begin({.request = "late", .stdin_text = "input"});
    EXPECT_EQ(read_all(end(GuestFd::Request), kibibytes(1)).value(), "late");
    EXPECT_EQ(read_all(end(GuestFd::Stdin), kibibytes(1)).value(), "input");
}

TEST_F(ReadyGuestTest, IsListenedToWhenItEndsSoon) {
    std::vector<std::string> lines;
    io->on_reading([&](std::string_view line) { lines.emplace_back(line); });
    begin({.request = "late"});
    write(GuestFd::Stdout, "more than one");
    write(GuestFd::Stderr, "error");
    write(GuestFd::Report, "{\"runs\"}\n{}");
    EXPECT_EQ(io->captured_stdout().text, "") << "nobody was woken";
    EXPECT_TRUE(lines.empty());
    io->finish();
    settle();
    EXPECT_TRUE(ended);
    EXPECT_EQ(io->captured_stdout().text, "more than one");
    EXPECT_EQ(io->captured_stderr().text, "error");
    EXPECT_EQ(lines, std::vector<std::string>{"{\"runs\"}"});
    EXPECT_EQ(io->report(), "\n{}");
}

TEST_F(ReadyGuestTest, IsListenedToWhenItGoesOn) {
    begin({.request = "late"});
    write(GuestFd::Stdout, "first, ");
    for (int tries = 0; tries < 1000 && io->captured_stdout().text.empty(); ++tries) {
        context.restart();
        context.run_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(io->captured_stdout().text, "first, ");
    write(GuestFd::Stdout, "and at once");
    EXPECT_EQ(io->captured_stdout().text, "first, and at once");
    write(GuestFd::Report, "{}");
    close_outputs();
    EXPECT_TRUE(ended) << "with nobody else to say so";
    EXPECT_EQ(io->report(), "\n{}");
}

TEST_F(ReadyGuestTest, ThatReadsLateGetsAllOfALongRequest) {
    const std::string text(300'000, 'r');
    begin({.request = text});
    std::string received;
    std::vector<char> buffer(1 << 16U);
    for (ssize_t count = 1; count > 0; settle()) {
        count = ::read(end(GuestFd::Request).get(), buffer.data(), buffer.size());
        ASSERT_GE(count, 0);
        received.append(buffer.data(), static_cast<std::size_t>(count));
    }
    EXPECT_EQ(received, text);
    io->finish();
    settle();
    EXPECT_TRUE(ended);
}

TEST_F(GuestIoTest, AGuestThatEndsGivesNoSign) {
    io.emplace(GuestIo::create(context.get_executor(), limits).value());
    ends = io->take_guest_ends(make_sealed_file("program", "the program").value());
    std::optional<bool> came;
    asio::co_spawn(context, io->await_sign(),
                   [&](const std::exception_ptr&, bool sign) { came = sign; });
    close_outputs();
    EXPECT_EQ(came, false);
}

TEST_F(GuestIoTest, KeepsEachStreamApart) {
    start("");
    write(GuestFd::Stdout, "out");
    write(GuestFd::Stderr, "err");
    write(GuestFd::Report, "{}");
    write(GuestFd::Stdout, "put");
    EXPECT_FALSE(ended);
    close_outputs();
    EXPECT_TRUE(ended);
    EXPECT_EQ(io->captured_stdout().text, "output");
    EXPECT_EQ(io->captured_stderr().text, "err");
    EXPECT_EQ(io->report(), "{}");
}

TEST_F(GuestIoTest, EndsOnlyWhenEveryOutputIsClosed) {
    start("");
    end(GuestFd::Stdout).reset();
    end(GuestFd::Stderr).reset();
    settle();
    EXPECT_FALSE(ended);
    end(GuestFd::Report).reset();
    settle();
    EXPECT_TRUE(ended);
}

TEST_F(GuestIoTest, EndsWithWhatIsInThePipesWhenNobodyIsLeft) {
    start("");
    write(GuestFd::Stdout, "before ");
    ASSERT_TRUE(write_all(end(GuestFd::Stdout), "after"));
    ASSERT_TRUE(write_all(end(GuestFd::Stderr), std::string(60'000, 'e')));
    ASSERT_TRUE(write_all(end(GuestFd::Report), "{}"));
    io->finish();
    settle();
    EXPECT_TRUE(ended) << "although the guest's ends are open";
    EXPECT_EQ(io->captured_stdout().text, "before after");
    EXPECT_EQ(io->captured_stderr().bytes, 60'000U);
    EXPECT_EQ(io->report(), "{}");
}

TEST_F(GuestIoTest, FeedsStandardInputToItsEnd) {
    start("a\0b");
    EXPECT_EQ(read_all(end(GuestFd::Stdin), kibibytes(1)).value(), "a");
    const std::string large(1 << 20U, 'i');
    close_outputs();
    ended = false;
    start(large);
    std::string received;
    std::array<char, 65536> buffer{};
    while (received.size() < large.size()) {
        const ssize_t count = ::read(end(GuestFd::Stdin).get(), buffer.data(), buffer.size());
        ASSERT_GT(count, 0);
        received.append(buffer.data(), static_cast<std::size_t>(count));
        settle();
    }
    EXPECT_TRUE(received == large);
    EXPECT_EQ(::read(end(GuestFd::Stdin).get(), buffer.data(), buffer.size()), 0);
}

TEST_F(GuestIoTest, AGuestThatDoesNotReadItsInputCanEnd) {
    start(std::string(1 << 20U, 'i'));
    write(GuestFd::Stdout, "done");
    close_outputs();
    EXPECT_TRUE(ended);
    EXPECT_EQ(io->captured_stdout().text, "done");
}

TEST_F(GuestIoTest, AGuestThatClosesItsInputGoesOn) {
    start(std::string(1 << 20U, 'i'));
    end(GuestFd::Stdin).reset();
    settle();
    EXPECT_FALSE(ended);
    write(GuestFd::Stdout, "still here");
    close_outputs();
    EXPECT_EQ(io->captured_stdout().text, "still here");
}

TEST_F(GuestIoTest, TellsOfAFloodOnce) {
    limits.output = kibibytes(1);
    limits.output_flood = kibibytes(100);
    start("");
    write(GuestFd::Stdout, std::string(100 << 10U, 'x'));
    EXPECT_EQ(floods, 0) << "exactly the limit is allowed";
    write(GuestFd::Stdout, "x");
    EXPECT_EQ(floods, 1);
    write(GuestFd::Stdout, std::string(100 << 10U, 'x'));
    write(GuestFd::Stderr, std::string(200 << 10U, 'x'));
    EXPECT_EQ(floods, 1);
    close_outputs();
    EXPECT_EQ(io->captured_stdout().bytes, (200U << 10U) + 1);
    EXPECT_LT(io->captured_stdout().text.size(), 1200U);
}

TEST_F(GuestIoTest, KeepsALongStreamWholeFromItsBeginning) {
    open_store();
    limits.output = kibibytes(200);
    start("");
    std::string written;
    for (int number = 0; written.size() < (400U << 10U); ++number) {
        const std::string part = std::to_string(number) + std::string(9000, 'x');
        write(GuestFd::Stdout, part);
        written += part;
        if (written.size() <= limits.output.count) {
            EXPECT_TRUE(std::filesystem::is_empty(place / "outputs")) << "nothing needs a file yet";
        }
    }
    write(GuestFd::Stderr, "short");
    close_outputs();
    EXPECT_TRUE(ended);
    EXPECT_TRUE(io->recording()->publish().value());
    EXPECT_TRUE(kept(OutputStream::Stdout) == written);
    EXPECT_EQ(kept(OutputStream::Stderr), "(nothing)") << "all of it is in the result";
    EXPECT_EQ(io->captured_stdout().bytes, written.size());
    EXPECT_TRUE(io->captured_stdout().truncated);
}

TEST_F(GuestIoTest, KeepsNothingOfAStreamThatFits) {
    open_store();
    limits.output = kibibytes(64);
    start("");
    write(GuestFd::Stdout, std::string(64 << 10U, 'x'));
    close_outputs();
    EXPECT_FALSE(io->recording()->publish().value());
    EXPECT_TRUE(std::filesystem::is_empty(place / "outputs"));
    EXPECT_FALSE(io->captured_stdout().truncated);
}

TEST_F(GuestIoTest, OneByteTooManyIsKeptWithAllBeforeIt) {
    open_store();
    limits.output = Bytes{10};
    start("");
    write(GuestFd::Stderr, "0123456789");
    write(GuestFd::Stderr, "a");
    write(GuestFd::Stderr, "b");
    close_outputs();
    EXPECT_TRUE(io->recording()->publish().value());
    EXPECT_EQ(kept(OutputStream::Stderr), "0123456789ab");
}

TEST_F(GuestIoTest, AFileHasItsOwnLimit) {
    open_store();
    limits.output = kibibytes(1);
    limits.output_file = kibibytes(100);
    start("");
    write(GuestFd::Stdout, std::string(300 << 10U, 'x'));
    close_outputs();
    EXPECT_TRUE(io->recording()->publish().value());
    EXPECT_EQ(kept(OutputStream::Stdout).size(), 100U << 10U);
    EXPECT_TRUE(store->find({id}).value()[0]->cut);
    EXPECT_EQ(io->captured_stdout().bytes, 300U << 10U) << "counted to the end";
}

TEST_F(GuestIoTest, CountsEachStreamByItself) {
    limits.output_flood = kibibytes(100);
    start("");
    write(GuestFd::Stdout, std::string(90 << 10U, 'x'));
    write(GuestFd::Stderr, std::string(90 << 10U, 'x'));
    EXPECT_EQ(floods, 0);
    write(GuestFd::Report, std::string(101 << 10U, 'x'));
    EXPECT_EQ(floods, 1) << "the report is a stream, too";
}

TEST_F(GuestIoTest, AReportIsBounded) {
    start("");
    write(GuestFd::Report, std::string(22 << 20U, 'r'));
    close_outputs();
    EXPECT_EQ(io->report().size(), 20U << 20U);
}

TEST_F(GuestIoTest, ShowsOutputAsItComes) {
    std::string seen;
    LiveStreams live;
    live.watch.on_output = [&](OutputStream stream, std::string_view data) {
        seen += stream == OutputStream::Stdout ? "o:" : "e:";
        seen += data;
    };
    limits.output = Bytes{2};
    start("", std::move(live));
    write(GuestFd::Stdout, "first");
    EXPECT_EQ(seen, "o:first");
    write(GuestFd::Stderr, "second");
    EXPECT_EQ(seen, "o:firste:second") << "what the capture drops is shown all the same";
}

TEST_F(GuestIoTest, TakesInputFromAPipeAsItComes) {
    Pipe source = make_pipe().value();
    LiveStreams live;
    live.stdin_source = Fd(::fcntl(source.read_end.get(), F_DUPFD_CLOEXEC, 3));
    start("not used", std::move(live));
    ASSERT_TRUE(write_all(source.write_end, "typed"));
    settle();
    std::array<char, 16> buffer{};
    ASSERT_EQ(::read(end(GuestFd::Stdin).get(), buffer.data(), buffer.size()), 5);
    EXPECT_EQ(std::string_view(buffer.data(), 5), "typed");
    EXPECT_EQ(::fcntl(source.read_end.get(), F_GETFL) & O_NONBLOCK, 0)
        << "a terminal is shared with the shell";
    source.write_end.reset();
    settle();
    EXPECT_EQ(::read(end(GuestFd::Stdin).get(), buffer.data(), buffer.size()), 0);
}

TEST_F(GuestIoTest, TakesInputFromAFile) {
    LiveStreams live;
    live.stdin_source = make_sealed_file("input", "from a file").value();
    start("", std::move(live));
    settle();
    EXPECT_EQ(read_all(end(GuestFd::Stdin), kibibytes(1)).value(), "from a file");
}

TEST_F(GuestIoTest, ASourceThatNeverEndsDoesNotHoldTheRun) {
    const Pipe source = make_pipe().value();
    LiveStreams live;
    live.stdin_source = Fd(::fcntl(source.read_end.get(), F_DUPFD_CLOEXEC, 3));
    start("", std::move(live));
    close_outputs();
    EXPECT_TRUE(ended);
}

TEST_F(GuestIoTest, MasksAValueThatComesInPieces) {
    masked.set();
    std::string watched;
    start("", {.watch = {.on_output = [&watched](OutputStream, std::string_view data) {
                   watched += data;
               }}});
    write(GuestFd::Stdout, "begun\nto john@exam");
    EXPECT_EQ(watched, "begun\nto ");
    write(GuestFd::Stdout, "ple.com and 10.0.");
    write(GuestFd::Stderr, "from 192.168.1");
    EXPECT_EQ(watched, "begun\nto [EMAIL_REDACTED] and from ");
    write(GuestFd::Stderr, ".1");
    close_outputs();
    EXPECT_TRUE(ended);
    const execution::CapturedStream out = io->captured_stdout();
    EXPECT_EQ(out.text, "begun\nto [EMAIL_REDACTED] and 10.0.");
    EXPECT_EQ(out.bytes, out.text.size());
    EXPECT_EQ(io->captured_stderr().text, "from [IP_REDACTED]");
    EXPECT_EQ(io->masked(), (execution::MaskCounts{{"email", 1}, {"ip_address", 1}}));
}

TEST_F(GuestIoTest, KeepsWhatIsMasked) {
    open_store();
    limits.output = kibibytes(4);
    masked.set();
    start("");
    std::string expected;
    for (int count = 0; count < 2000; ++count) {
        write(GuestFd::Stdout, "to ann@example.com\n");
        expected += "to [EMAIL_REDACTED]\n";
    }
    close_outputs();
    ASSERT_TRUE(io->recording()->publish().value());
    EXPECT_EQ(kept(OutputStream::Stdout), expected);
    EXPECT_EQ(io->captured_stdout().bytes, expected.size());
    EXPECT_TRUE(io->captured_stdout().truncated);
}

TEST_F(GuestIoTest, CountsAFloodByWhatTheGuestWrote) {
    limits.output_flood = kibibytes(8);
    masked.set();
    start("");
    write(GuestFd::Stdout, "sk-A1" + std::string(9 << 10U, 'x'));
    EXPECT_EQ(floods, 1);
    close_outputs();
    EXPECT_EQ(io->captured_stdout().text, "[KEY_REDACTED]");
}

}  // namespace
}  // namespace belljar::engine
