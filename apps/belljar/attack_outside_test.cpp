#include "attack_outside.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>

namespace belljar::apps {
namespace {

class AttackOutsideTest : public testing::Test {
   protected:
    void SetUp() override {
        secret = Outside::plant_secret();
        Result<std::unique_ptr<Outside>> made = Outside::create(secret);
        ASSERT_TRUE(made) << made.error().describe();
        outside = std::move(*made);
        told = outside->told();
    }

    [[nodiscard]] std::string text(const char* name) const {
        return std::string(told.at(name).as_string());
    }
    [[nodiscard]] std::string flag() const {
        return std::string(told.at("flags").as_array().at(0).as_string());
    }
    [[nodiscard]] std::vector<std::string> damage() const { return outside->find_damage(""); }

    // As a guest would that has found the way.
    static void connect_unix(const std::string& name) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        std::memcpy(address.sun_path, name.data(), name.size());
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        const Fd visitor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(visitor.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    }
    void reach_port(int type, const char* name) const {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(told.at(name).to_number<std::uint16_t>());
        const Fd visitor(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
        const auto* generic = reinterpret_cast<const sockaddr*>(&address);
        ASSERT_EQ(::connect(visitor.get(), generic, sizeof(address)), 0);
        ASSERT_EQ(::send(visitor.get(), "x", 1, 0), 1);
    }

    std::string secret;
    std::unique_ptr<Outside> outside;
    json::object told;
};

TEST_F(AttackOutsideTest, NoDamageWithoutAnAttack) {
    EXPECT_TRUE(damage().empty());
    EXPECT_TRUE(outside->find_damage(to_text(told)).empty()) << "the bait itself is told";
}

TEST_F(AttackOutsideTest, SecretThatIsSaidIsDamage) {
    EXPECT_STREQ(::getenv("ATTACK_SECRET"), secret.c_str());
    EXPECT_EQ(outside->find_damage("before " + secret + " after").size(), 1U);
}

TEST_F(AttackOutsideTest, ContentOfAFlagThatIsSaidIsDamage) {
    const Result<std::string> content = read_file(flag(), kibibytes(1));
    ASSERT_TRUE(content);
    EXPECT_EQ(outside->find_damage("{\"stdout\": \"" + *content + "\"}").size(), 1U);
}

TEST_F(AttackOutsideTest, EveryoneMayReadTheFlags) {
    for (const json::value& path : told.at("flags").as_array()) {
        struct stat status{};
        ASSERT_EQ(::stat(path.as_string().c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0644U);
    }
}

TEST_F(AttackOutsideTest, ChangedFlagIsDamage) {
    ASSERT_EQ(::chmod(flag().c_str(), 0600), 0);
    EXPECT_EQ(damage().size(), 1U);
    ASSERT_EQ(::unlink(flag().c_str()), 0);
    EXPECT_EQ(damage().size(), 1U);
}

TEST_F(AttackOutsideTest, VisitorsAreDamage) {
    connect_unix(std::string(1, '\0') + text("abstract_socket"));
    EXPECT_EQ(damage().size(), 1U);
    connect_unix(text("socket_file"));
    EXPECT_EQ(damage().size(), 1U);
    reach_port(SOCK_STREAM, "tcp_port");
    EXPECT_EQ(damage().size(), 1U);
    reach_port(SOCK_DGRAM, "udp_port");
    EXPECT_EQ(damage().size(), 1U);
    EXPECT_TRUE(damage().empty()) << "each visit counts once";
}

TEST_F(AttackOutsideTest, ProcessThatWasNotThereBeforeIsSeen) {
    EXPECT_TRUE(outside->list_jar_processes().empty());
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    EXPECT_EQ(outside->list_jar_processes().size(), 1U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(outside->list_jar_processes().empty());
}

TEST_F(AttackOutsideTest, BaitIsRemovedWithIt) {
    const std::string folder = std::filesystem::path(text("socket_file")).parent_path();
    std::vector<std::string> paths{folder};
    for (const json::value& path : told.at("flags").as_array()) {
        paths.emplace_back(path.as_string());
    }
    outside.reset();
    for (const std::string& path : paths) {
        EXPECT_NE(::access(path.c_str(), F_OK), 0) << path;
    }
    EXPECT_EQ(::getenv("ATTACK_SECRET"), nullptr);
}

}  // namespace
}  // namespace belljar::apps
