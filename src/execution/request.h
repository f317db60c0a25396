#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"

namespace belljar::execution {

// Whose text the code is: the caller's, or a program of ours that reads or calls something for it.
// Ours is neither scanned nor kept from importing; its jar is the same.
enum class Author { Caller, Belljar };

// Modules that code may import by itself, with those inside of them. Shared by all plans of a
// profile.
struct ImportRules {
    std::vector<std::string> modules{};
};

// What the guest's interpreter does with a program before it runs the first line: it reads it,
// tells what it found, and runs it only if nothing of that is listed here.
struct ReadingOrder {
    std::vector<std::string> stops{};     // rules that keep it from running
    std::vector<std::string> builtins{};  // calls of these only are found by the rule code.builtin
};

// How much of what a program shows is given to a model: the best form of each output, or all.
enum class OutputForm { Compact, Full };

// By what a request came, for figures.
enum class Protocol { Rest, Mcp, Local };

[[nodiscard]] constexpr std::string_view name_of(Protocol protocol) {
    switch (protocol) {
        case Protocol::Rest:
            return "rest";
        case Protocol::Mcp:
            return "mcp";
        case Protocol::Local:
            break;
    }
    return "local";
}

// One run as a caller asked for it, before policy has looked at it.
struct RunRequest {
    // Who asks, as access/ tells and never as the request says; empty: the one without a name.
    std::string principal{};
    std::string code{};
    std::string language = "python";
    bool language_given = false;  // or taken for granted: a session has its own
    std::optional<Duration> timeout{};
    std::optional<Bytes> memory{};
    std::optional<double> cpu{};               // cores
    std::optional<std::uint64_t> processes{};  // and threads, alive at once
    std::optional<Bytes> output{};             // of each stream in the result
    std::string stdin_text{};
    std::vector<std::string> arguments{};
    std::map<std::string, std::string> environment{};
    std::map<std::string, std::string> files{};  // path below /workspace -> content
    // Modules that the program itself may import, with those inside of them ("xml.etree" allows
    // "xml.etree.ElementTree"); nothing: whatever its profile allows.
    std::optional<std::vector<std::string>> allowed_imports{};
    std::optional<std::string> profile{};  // of policy; nothing: that of the caller
    // What the profile allows besides the program's own files and approved tools; set by policy,
    // nothing: every module.
    std::shared_ptr<const ImportRules> profile_imports{};
    // Set by policy; nothing: it is not read in the jar of its run.
    std::shared_ptr<const ReadingOrder> reading{};
    Author author = Author::Caller;
    bool network = false;  // asks for one
    // A person was shown what the scanner found, and has agreed: who, as far as that is known.
    std::optional<std::string> approved_by{};
    // An interpreter that stays: a new one or that of the conversation, or the one of this name.
    bool session = false;
    std::optional<std::string> session_id{};
    std::optional<std::string> conversation_id{};
    OutputForm output_form = OutputForm::Compact;
    bool debug = false;  // the result tells where the time went
    // Given before by whoever lets it run in the background; empty: it is given with its place.
    std::string execution_id{};
    std::optional<std::string> label{};  // whom the caller says it is for; only recorded
    std::optional<std::string> trace{};  // id of the caller's trace; only recorded
    // The caller's place in its trace, as the program finds it in TRACEPARENT.
    std::optional<std::string> trace_parent{};
    Protocol protocol = Protocol::Rest;
    // For the audit trail, as far as it is known.
    std::string tool{};                    // "execute_code", "POST /v1/runs"
    std::string client{};                  // what the client says of itself: name and version
    std::string address{};                 // where the request came from
    std::vector<std::string> tool_sets{};  // roles of the caller that are none of the server's own
};

}  // namespace belljar::execution
