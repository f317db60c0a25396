#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "config/load.h"
#include "execution/principal_limits.h"
#include "mcp/fixtures.h"

namespace belljar::apps {

// Exit codes of `belljar run` that do not come from the program.
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitFault = 125;  // Belljar itself could not
inline constexpr int kExitKilled = 137;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
// Of `belljar doctor`: isolation.require accepts it, but the grade is below standard.
inline constexpr int kExitBelowStandard = 3;

enum class OutputForm { Text, Json };

struct RunOptions {
    std::string file{};  // "-" for standard input
    std::string language{};
    std::optional<std::string> timeout{};
    std::optional<std::string> memory{};
    std::optional<std::string> cpu{};
    std::optional<std::string> processes{};
    std::optional<std::string> max_output{};
    std::optional<std::string> conversation{};
    std::optional<std::string> profile{};
    OutputForm form = OutputForm::Text;
    std::vector<std::string> arguments{};
};

struct ValidateOptions {
    std::string file{};  // "-" for standard input
    std::string language{};
    std::string profile{};  // empty: basic
    OutputForm form = OutputForm::Text;
};

struct PolicyOptions {
    enum class Deed { Check, Show, Schema };

    Deed deed = Deed::Check;
    std::string path{};  // empty: policy.path
};

struct AttackOptions {
    enum class Deed { Try, List };
    enum class Modes { Chosen, Every };

    Deed deed = Deed::Try;
    Modes modes = Modes::Chosen;
    std::vector<std::string> only{};  // names; empty for all
    OutputForm form = OutputForm::Text;
};

struct TokenOptions {
    enum class Deed { Create, List, Revoke };
    enum class Source { Random, StandardInput };

    Deed deed = Deed::List;
    std::string name{};
    std::vector<std::string> roles{};
    std::string expires = "never";
    execution::PrincipalLimits limits{};
    std::string storage{};  // of those, as it was written
    Source source = Source::Random;
    OutputForm form = OutputForm::Text;
};

struct ConversationOptions {
    enum class Deed { List, Usage, Delete, Cleanup };

    Deed deed = Deed::List;
    std::string principal{};  // "-": the one without a name
    std::string conversation_id{};
    std::string idle{};  // instead of storage.conversation_idle
    bool dry_run = false;
    OutputForm form = OutputForm::Text;
};

using mcp::Fixtures;

// Each returns the exit code of the program. Problems are said on standard error.
int serve(const config::Loaded& loaded, Fixtures fixtures);
int speak_mcp(const config::Loaded& loaded, Fixtures fixtures);
int run_program(const config::Loaded& loaded, const RunOptions& options);
int validate_program(const config::Loaded& loaded, const ValidateOptions& options);
int manage_policy(const config::Loaded& loaded, const PolicyOptions& options);
int examine_host(const config::Loaded& loaded, OutputForm form);
int manage_tokens(const config::Loaded& loaded, const TokenOptions& options);
int manage_conversations(const config::Loaded& loaded, const ConversationOptions& options);
int attack(const config::Loaded& loaded, const AttackOptions& options);

// "belljar: message", one per line of the error.
void complain(const Error& error);

}  // namespace belljar::apps
