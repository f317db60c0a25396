#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "execution/limits.h"
#include "execution/result.h"

namespace belljar::apps {

// How the runs of one attack are arranged.
enum class Staging {
    Alone,
    Pair,     // two jars at once, which wait for each other
    InTurn,   // two jars, one after the other
    Watched,  // looked at from outside while it waits
    Crowded,  // beside an ordinary program
};

// Whether an attack that ends by itself is believed when it says that the jar held.
enum class Word { Needed, Worthless };

// Whether the request carries a file whose path leads out of the workspace.
enum class Upload { Harmless, Hostile };

// A set of execution::Status.
class StatusSet {
   public:
    constexpr StatusSet(std::initializer_list<execution::Status> members) {
        for (const execution::Status member : members) {
            bits_ |= 1U << static_cast<unsigned>(member);
        }
    }
    [[nodiscard]] constexpr bool contains(execution::Status status) const {
        return (bits_ >> static_cast<unsigned>(status) & 1U) != 0;
    }

   private:
    std::uint32_t bits_ = 0;
};

// What came of the runs of one attack, for the judges.
struct Trial {
    std::vector<Result<execution::RunResult>> runs{};
    execution::Limits limits{};                          // of each run
    std::vector<Result<execution::RunResult>> beside{};  // the ordinary program of a crowded one
    std::uint64_t memory_growth = 0;                     // of this process, in bytes
    std::string posture{};             // what was wrong with a watched guest; empty if nothing
    std::vector<std::string> users{};  // the host's user of each of two jars in turn, if it waited
    std::string token{};               // random; part of every name that is chosen for this attack
};

// What is wrong with a trial, judged from outside; empty if nothing is.
using Judge = std::string (*)(const Trial& trial);

// How an attack is carried out and by what it is judged.
struct Conduct {
    Staging staging = Staging::Alone;
    StatusSet statuses{execution::Status::Ok};  // with which a run may end
    Duration timeout = std::chrono::seconds(10);
    Bytes memory = mebibytes(256);
    Word word = Word::Needed;
    Upload upload = Upload::Harmless;
    Judge judge = nullptr;
};

// One attack: its program, and what the head of the program says of it.
struct Attack {
    std::string name{};
    std::string kind{};  // the class of harm: Escape, HostLeak, ...
    std::string tries{};
    std::string expects{};
    // Without one of these layers it is known to succeed; "root" is the mode of that name.
    std::vector<std::string> needs{};
    std::string program{};
    std::string not_applicable{};  // why it cannot be tried; empty if it can
    Conduct conduct{};
};

// All of them in the order in which they are run and shown.
[[nodiscard]] Result<std::vector<Attack>> read_attack_catalog();

// The modules that every attack may import, by file name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> attack_support_files();

}  // namespace belljar::apps
