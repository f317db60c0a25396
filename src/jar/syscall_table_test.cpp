#include "jar/syscall_table.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace belljar::jar {
namespace {

std::string text_of(const Answer& answer) {
    switch (answer.ruling) {
        case Ruling::Allow:
            return "allow";
        case Ruling::Observe:
            return "observe";
        case Ruling::Refuse:
            return std::string("refuse ") + strerrorname_np(answer.error);
        case Ruling::Absent:
            return std::string("absent ") + strerrorname_np(answer.error);
    }
    return "";
}

std::string text_of(const Next& next) {
    return next.kind == Next::Kind::Check ? "[" + std::to_string(next.check) + "]"
                                          : text_of(next.answer);
}

std::string text_of(const Check& check) {
    std::ostringstream text;
    text << "argument " << int{check.argument} << (check.half == Half::High ? " high" : "")
         << std::hex << std::showbase;
    if (check.mask != ~0U) {
        text << " & " << check.mask;
    }
    text << (check.test == Test::Equals    ? " == "
             : check.test == Test::AtLeast ? " >= "
                                           : " has a bit of ")
         << check.value << " ? " << text_of(check.yes) << " : " << text_of(check.no);
    return text.str();
}

std::string text_of(const Rule& rule) {
    if (rule.checks.empty()) {
        return " " + text_of(rule.answer) + "\n";
    }
    std::string text = " examine\n";
    for (std::size_t index = 0; index < rule.checks.size(); ++index) {
        text += "    [" + std::to_string(index) + "] " + text_of(rule.checks[index]) + "\n";
    }
    return text;
}

// What the table says, in words: first for a jar with namespaces of its own, then what differs
// with those of the host.
std::string rendered_table() {
    std::string text;
    for (const SyscallEntry& entry : syscall_table()) {
        const std::string own = text_of(rule_for(entry.treatment, Reach::OwnNamespaces));
        const std::string host = text_of(rule_for(entry.treatment, Reach::HostNamespaces));
        text += std::to_string(entry.number) + " " + std::string(entry.name) + own;
        if (host != own) {
            text += "  with the host's namespaces:" + host;
        }
    }
    return text;
}

// Any change of a ruling must show in a file that people read. BELLJAR_WRITE_GOLDEN=1 writes it.
TEST(SyscallTable, RulingsAreTheCommittedOnes) {
    const std::string rendered = rendered_table();
    if (std::getenv("BELLJAR_WRITE_GOLDEN") != nullptr) {
        std::ofstream(BELLJAR_SYSCALL_GOLDEN) << rendered;
    }
    std::ifstream file(BELLJAR_SYSCALL_GOLDEN);
    std::stringstream committed;
    committed << file.rdbuf();
    EXPECT_EQ(committed.str(), rendered);
}

TEST(SyscallTable, NumbersAreThoseOfTheHeaders) {
    EXPECT_EQ(syscall_name(SYS_read), "read");
    EXPECT_EQ(syscall_name(SYS_umount2), "umount2");
    EXPECT_EQ(syscall_name(SYS_prlimit64), "prlimit64");
    EXPECT_EQ(syscall_name(SYS_rseq), "rseq");
    EXPECT_EQ(syscall_name(SYS_pidfd_send_signal), "pidfd_send_signal");
    EXPECT_EQ(syscall_name(SYS_clone3), "clone3");
    EXPECT_EQ(syscall_name(SYS_process_mrelease), "process_mrelease");
    EXPECT_EQ(syscall_name(SYS_set_mempolicy_home_node), "set_mempolicy_home_node");
}

TEST(SyscallTable, UnknownNumbersAreAbsent) {
    for (const std::uint32_t number : {337U, 423U, 471U, 600U, 0x40000000U, 0xffffffffU}) {
        EXPECT_EQ(syscall_name(number), "") << number;
        EXPECT_EQ(treatment_of(number), Treatment::Absent) << number;
    }
}

TEST(SyscallTable, EveryNumberUpToTheNewestIsListed) {
    std::uint32_t expected = 0;
    for (const SyscallEntry& entry : syscall_table()) {
        EXPECT_EQ(entry.number, expected);
        expected = entry.number == 336 ? 424 : entry.number + 1;
    }
    EXPECT_EQ(expected, 471U);
}

}  // namespace
}  // namespace belljar::jar
