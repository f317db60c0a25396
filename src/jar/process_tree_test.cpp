#include "jar/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <sstream>

#include "base/clock.h"
#include "base/fd.h"

namespace belljar::jar {
namespace {

constexpr uid_t kSomebody = 1'900'000'003;

// Starts a process that runs `act`, and never returns from it.
pid_t start(const std::function<void()>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
        act();
        ::_exit(0);
    }
    return child;
}

void wait_for_ever() {
    while (true) {
        ::pause();
    }
}

// Every process of a test holds the write end of a pipe, so that its end of file tells that none is
// left. Some write a byte when they are where they should be.
class Family {
   public:
    void say_ready() const { EXPECT_EQ(::write(pipe_.write_end.get(), "r", 1), 1); }
    void await(int count) const {
        char byte = 0;
        for (int index = 0; index < count; ++index) {
            EXPECT_EQ(::read(pipe_.read_end.get(), &byte, 1), 1);
        }
    }
    // In the process that ends all others: nobody but us holds the pipe.
    [[nodiscard]] bool is_gone() {
        pipe_.write_end.reset();
        pollfd entry{.fd = pipe_.read_end.get(), .events = POLLIN, .revents = 0};
        std::array<char, 4096> rest{};
        while (::poll(&entry, 1, 0) == 1) {
            if (::read(pipe_.read_end.get(), rest.data(), rest.size()) == 0) {
                return true;
            }
        }
        return false;
    }

   private:
    Pipe pipe_ = make_pipe().value();
};

// Runs `act` in a child subreaper, as init and the keeper are. It returns whether all is well.
bool in_subreaper(const std::function<bool(Family&)>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
        Family family;
        const bool good = ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) == 0 && act(family);
        ::_exit(good && !testing::Test::HasFailure() ? 0 : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
}

bool has_no_children() { return ::waitpid(-1, nullptr, WNOHANG | __WALL) < 0 && errno == ECHILD; }

TEST(ProcessTree, NobodyIsEndedIfThereIsNobody) {
    EXPECT_TRUE(in_subreaper([](Family&) { return end_descendants({}).has_value(); }));
}

TEST(ProcessTree, EndsChildrenThatIgnoreSignals) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        for (int count = 0; count < 3; ++count) {
            start([&family] {
                for (int number = 1; number < NSIG; ++number) {
                    ::signal(number, SIG_IGN);
                }
                family.say_ready();
                wait_for_ever();
            });
        }
        family.await(3);
        return end_descendants({}) && family.is_gone() && has_no_children();
    }));
}

TEST(ProcessTree, EndsWhoeverLeftParentAndSession) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        start([&family] {
            start([&family] {
                ::setsid();
                start([&family] {
                    ::setpgid(0, 0);
                    family.say_ready();
                    wait_for_ever();
                });
                family.say_ready();
                wait_for_ever();
            });
        });
        family.await(2);
        return end_descendants({}) && family.is_gone() && has_no_children();
    }));
}

TEST(ProcessTree, EndsADeepLine) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        const std::function<void(int)> descend = [&](int levels) {
            if (levels > 0) {
                start([&descend, levels] { descend(levels - 1); });
            }
            family.say_ready();
            wait_for_ever();
        };
        start([&descend] { descend(100); });
        family.await(101);
        return end_descendants({}) && family.is_gone() && has_no_children();
    }));
}

TEST(ProcessTree, EndsWhoIsStopped) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        start([] { ::raise(SIGSTOP); });
        int status = 0;
        const bool stopped = ::waitpid(-1, &status, WUNTRACED) > 0 && WIFSTOPPED(status);
        return stopped && end_descendants({}) && family.is_gone() && has_no_children();
    }));
}

TEST(ProcessTree, ReapsWhoHasEnded) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        for (int count = 0; count < 200; ++count) {
            start([] {});
        }
        return end_descendants({}) && family.is_gone() && has_no_children();
    }));
}

TEST(ProcessTree, ReapsOnlyTheDeadWhomNobodyKnows) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        const pid_t known = start([] {});
        const pid_t unknown = start([] {});
        const pid_t alive = start(wait_for_ever);
        siginfo_t info{};
        for (const pid_t child : {known, unknown}) {
            ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
        }
        const bool done = reap_unknown({known}).has_value();
        const bool only_one = ::waitpid(unknown, nullptr, WNOHANG) < 0 &&
                              ::waitpid(alive, nullptr, WNOHANG) == 0 &&
                              ::waitpid(known, nullptr, WNOHANG) == known;
        return done && only_one && end_descendants({}) && family.is_gone();
    }));
}

TEST(ProcessTree, SparesThoseWhoAreNamedAndTheirChildren) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        Family spared_family;
        const pid_t spared = start([&] {
            start([&spared_family] {
                spared_family.say_ready();
                wait_for_ever();
            });
            spared_family.say_ready();
            wait_for_ever();
        });
        start(wait_for_ever);
        start(wait_for_ever);
        spared_family.await(2);
        const bool ended = end_descendants({spared, 1}).has_value();
        const bool stays = !spared_family.is_gone() && ::waitpid(-1, nullptr, WNOHANG) == 0;
        const bool ended_too = end_descendants({}).has_value();
        return ended && stays && ended_too && spared_family.is_gone() && family.is_gone();
    }));
}

// Each lives only until its child is there.
TEST(ProcessTree, EndsALineThatIsNeverLongInOnePlace) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        start([&family] {
            family.say_ready();
            while (true) {
                const pid_t next = ::fork();
                if (next != 0) {
                    ::_exit(0);
                }
            }
        });
        family.await(1);
        return end_descendants({}) && family.is_gone() && has_no_children();
    }));
}

// As many as the limit allows, each of which starts another as soon as one has ended.
TEST(ProcessTree, EndsWhatForksOnAndOn) {
    EXPECT_TRUE(in_subreaper([](Family& family) {
        const rlimit limit{.rlim_cur = 80, .rlim_max = 80};
        if (::geteuid() == 0 && (::setresgid(kSomebody, kSomebody, kSomebody) != 0 ||
                                 ::setresuid(kSomebody, kSomebody, kSomebody) != 0)) {
            return false;
        }
        // Counted by user id, which is this test's alone.
        ::setrlimit(RLIMIT_NPROC, &limit);
        start([&family] {
            bool told = false;
            while (true) {
                if (::fork() < 0 && !told) {
                    told = true;
                    family.say_ready();
                }
            }
        });
        family.await(1);
        const bool ended = end_descendants({}) && family.is_gone() && has_no_children();
        ::kill(-1, SIGKILL);  // this user has no other processes
        return ended;
    }));
}

}  // namespace
}  // namespace belljar::jar
