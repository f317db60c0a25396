#include "audit/copies.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "audit/trail_test_place.h"

namespace belljar::audit {
namespace {

class CopiesTest : public TrailTest {
   protected:
    [[nodiscard]] Fd listen(const std::string& name) const {
        Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        const std::string path = (place / name).string();
        std::memcpy(address.sun_path, path.data(), path.size());
        EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        return socket;
    }
    static std::string receive(const Fd& socket) {
        pollfd waited{.fd = socket.get(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&waited, 1, 10'000), 1);
        std::string text(std::size_t{256} * 1024, '\0');
        const ssize_t size = ::recv(socket.get(), text.data(), text.size(), 0);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
        return text;
    }
    [[nodiscard]] Copies::Places places(int output = -1) const {
        return {.standard_output = output,
                .syslog = (place / "log").string(),
                .journald = (place / "journal").string()};
    }
    [[nodiscard]] std::string line(const std::string& code = "x") const {
        return open_writer()->append(entry("ada", code)).value().line;
    }
};

TEST_F(CopiesTest, KnowsItsTargets) {
    EXPECT_EQ(parse_copy_targets({"stdout", "syslog", "journald"})->size(), 3U);
    EXPECT_FALSE(parse_copy_targets({"stdout", "mail"}));
}

TEST_F(CopiesTest, GoToEveryTarget) {
    const Fd syslog = listen("log");
    const Fd journal = listen("journal");
    const Pipe output = make_pipe().value();
    const std::string record = line();
    {
        Copies copies({CopyTarget::Stdout, CopyTarget::Syslog, CopyTarget::Journald},
                      places(output.write_end.get()));
        copies.send(record);
        const std::string message = receive(syslog);
        EXPECT_TRUE(message.starts_with("<109>1 20")) << message;
        EXPECT_NE(message.find(" belljar "), std::string::npos);
        EXPECT_TRUE(message.ends_with(record.substr(0, record.size() - 1)));
        const std::string entry = receive(journal);
        EXPECT_TRUE(entry.starts_with("MESSAGE=" + record)) << entry;
        EXPECT_NE(entry.find("\nBELLJAR_AUDIT_SEQ=2\n"), std::string::npos);
    }
    std::string copy(record.size(), '\0');
    ASSERT_EQ(::read(output.read_end.get(), copy.data(), copy.size()),
              static_cast<ssize_t>(record.size()));
    EXPECT_EQ(copy, record);
}

TEST_F(CopiesTest, WhatNobodyTakesIsCounted) {
    const std::string record = line();
    Copies copies({CopyTarget::Syslog, CopyTarget::Journald}, places());
    copies.send(record);
    while (copies.lost() < 2) {
        std::this_thread::yield();
    }
    const Fd syslog = listen("log");  // one that begins later is found
    copies.send(record);
    EXPECT_NE(receive(syslog).find(record.substr(0, 40)), std::string::npos);
}

TEST_F(CopiesTest, AReaderThatStandsStillCostsOnlyCopies) {
    const Pipe output = make_pipe().value();
    const std::string record = line(std::string(40'000, 'x'));
    Copies copies({CopyTarget::Stdout}, places(output.write_end.get()));
    for (int count = 0; count < 1000; ++count) {
        copies.send(record);  // returns, however little is read
    }
    EXPECT_GT(copies.lost(), 500U);
}

TEST_F(CopiesTest, ALongRecordIsNamedByItsHash) {
    const Fd syslog = listen("log");
    const std::string record = line(std::string(100'000, 'x'));
    Copies copies({CopyTarget::Syslog}, places());
    copies.send(record);
    const std::string message = receive(syslog);
    EXPECT_LT(message.size(), 1000U);
    EXPECT_NE(message.find("\"hash\":\""), std::string::npos);
    EXPECT_NE(message.find("\"seq\":2"), std::string::npos);
}

}  // namespace
}  // namespace belljar::audit
