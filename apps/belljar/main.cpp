#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "admin_command.h"
#include "audit_command.h"
#include "base/fd.h"
#include "commands.h"
#include "config/load.h"
#include "config/show.h"
#include "tools_command.h"

namespace {

using belljar::apps::AttackOptions;
using belljar::apps::ConversationOptions;
using belljar::apps::Fixtures;
using belljar::apps::OutputForm;
using belljar::apps::RunOptions;
using belljar::apps::TokenOptions;

// What was typed, before it is given meaning.
struct CommandLine {
    std::string config_file;
    std::string listen;
    std::string data_directory;
    std::string auth;
    RunOptions run;
    std::string run_timeout;
    std::string run_memory;
    std::string run_cpu;
    std::string run_processes;
    std::string run_max_output;
    std::string run_conversation;
    std::string run_profile;
    belljar::apps::ValidateOptions validate;
    belljar::apps::PolicyOptions policy;
    std::string token_profile;
    AttackOptions attack;
    TokenOptions token;
    belljar::apps::AdminOptions admin;
    belljar::apps::AuditOptions audit;
    ConversationOptions conversations;
    belljar::apps::ToolOptions tools;
    bool token_from_input = false;
    bool conformance = false;
    bool list_attacks = false;
    bool attack_every_mode = false;
    bool json = false;
};

constexpr std::array<std::string_view, 9> kOptionsWithValue{
    "--language",   "--timeout",      "--memory", "--cpu",    "--processes",
    "--max-output", "--conversation", "--config", "--profile"};

constexpr const char* kConformanceHelp =
    "Adds useless tools, for tests of the MCP protocol; never on a public address";

constexpr const char* kFooter =
    "Examples:\n"
    "  printf 'print(6*7)' | belljar run -     run a program, print what it prints\n"
    "  belljar serve                           HTTP and MCP on http://127.0.0.1:8080\n"
    "  claude mcp add belljar -- belljar mcp   MCP over stdio for one local user\n"
    "  belljar doctor                          what this host can contain, and how to fix it";

std::optional<std::string> if_given(const std::string& value) {
    return value.empty() ? std::nullopt : std::optional(value);
}

std::string default_config_file() {
    const std::string system_file = "/etc/belljar/belljar.toml";
    return ::access(system_file.c_str(), F_OK) == 0 ? system_file : "";
}

belljar::Result<belljar::config::Loaded> load(const CommandLine& line) {
    belljar::config::LoadInputs inputs{.environment = belljar::config::copy_environment(environ)};
    if (!line.config_file.empty()) {
        inputs.file_path = line.config_file;
    } else if (const std::string file = default_config_file();
               !file.empty() && !inputs.environment.contains("BELLJAR_CONFIG")) {
        inputs.file_path = file;
    }
    const auto add_flag = [&inputs](const char* key, const char* flag, const std::string& text) {
        if (!text.empty()) {
            inputs.flags.emplace(key, belljar::config::FlagValue{.text = text, .flag = flag});
        }
    };
    add_flag("server.listen", "--listen", line.listen);
    add_flag("server.data_dir", "--data-dir", line.data_directory);
    add_flag("auth.mode", "--auth", line.auth);
    return belljar::config::load(inputs);
}

// The first word that is neither an option nor the value of one that may stand before the command.
std::vector<std::string>::iterator find_command(std::vector<std::string>& words) {
    auto word = words.begin();
    while (word != words.end() && word->starts_with('-')) {
        const bool takes_value = *word == "--config";
        ++word;
        word += takes_value && word != words.end() ? 1 : 0;
    }
    return word;
}

// Takes the arguments of the program to run off the end of the command line: they begin after FILE
// with the first word that is no option of ours. Other commands have none.
std::vector<std::string> split_program_arguments(std::vector<std::string>& words) {
    const auto is_ours = [](const std::string& word) {
        return word == "--json" || word == "--help" || word == "-h" ||
               std::ranges::any_of(kOptionsWithValue, [&word](std::string_view option) {
                   return word.starts_with(std::string(option) + "=");
               });
    };
    auto word = find_command(words);
    if (word == words.end() || *word != "run") {
        return {};
    }
    bool have_file = false;
    for (++word; word != words.end(); ++word) {
        if (std::ranges::find(kOptionsWithValue, *word) != kOptionsWithValue.end()) {
            word += word + 1 == words.end() ? 0 : 1;
        } else if (have_file && !is_ours(*word)) {
            break;
        } else {
            have_file = have_file || *word == "-" || !word->starts_with('-');
        }
    }
    std::vector<std::string> arguments(word, words.end());
    words.erase(word, words.end());
    if (!arguments.empty() && arguments.front() == "--") {
        arguments.erase(arguments.begin());
    }
    return arguments;
}

void add_config(CLI::App& app, CommandLine& line) {
    app.add_option("--config", line.config_file, "Configuration file (/etc/belljar/belljar.toml)");
}

void add_serve(CLI::App& app, CommandLine& line) {
    CLI::App* serve = app.add_subcommand("serve", "Start the HTTP service: REST and MCP");
    serve->add_option("--listen", line.listen, "Address and port (127.0.0.1:8080)");
    serve->add_option("--data-dir", line.data_directory,
                      "Where tokens and files are kept (/var/lib/belljar)");
    serve->add_option("--auth", line.auth, "token (default), oauth, or none on a loopback address");
    serve->add_flag("--conformance", line.conformance, kConformanceHelp);
    serve->footer("Prints the address, the token and commands to paste. Stop it with Ctrl-C.");
}

void add_run(CLI::App& app, CommandLine& line) {
    CLI::App* run = app.add_subcommand("run", "Run one program in a jar of its own");
    run->add_option("FILE", line.run.file, "The program, or - for standard input")->required();
    run->add_option("--language", line.run.language, "By the file's ending, or python");
    run->add_option("--timeout", line.run_timeout, "Seconds (30)");
    run->add_option("--memory", line.run_memory, "Such as 256m (default) or 1g");
    run->add_option("--cpu", line.run_cpu, "Cores it keeps when others compete (0.5)");
    run->add_option("--processes", line.run_processes, "Processes and threads at once (64)");
    run->add_option("--max-output", line.run_max_output,
                    "Of each stream in the result of --json, such as 64k (1m)");
    run->add_option("--conversation", line.run_conversation,
                    "Whose files are in /workspace and outlive the run");
    run->add_option("--profile", line.run_profile, "Rules to run under, such as basic");
    run->add_flag("--json", line.json, "Print the whole result record instead of the output");
    run->footer(
        "After FILE, the first word that is not an option above begins the program's own "
        "arguments; "
        "-- does so too.\n"
        "Exit code: that of the program; 124 if it ran out of time, 137 if it was killed, "
        "125 if Belljar itself could not.");
}

void add_policy(CLI::App& app, CommandLine& line) {
    CLI::App* validate = app.add_subcommand("validate", "What policy says, without running");
    validate->add_option("FILE", line.validate.file, "The program, or - for standard input")
        ->required();
    validate->add_option("--language", line.validate.language, "By the file's ending, or python");
    validate->add_option("--profile", line.validate.profile, "The rules to answer for (basic)");
    validate->add_flag("--json", line.json, "For programs");
    validate->footer(
        "Exit code: 0 if the profile allows it, 1 if not, 125 if Belljar could not read it.");
    CLI::App* policy = app.add_subcommand("policy", "Look at policy files");
    policy->require_subcommand(1);
    CLI::App* check = policy->add_subcommand("check", "Whether they are valid, and if not why");
    CLI::App* show = policy->add_subcommand("show", "Every profile as it would be in force");
    policy->add_subcommand("schema", "Every key that they may have")->fallthrough();
    for (CLI::App* command : {check, show}) {
        command->add_option("PATH", line.policy.path, "File or directory (policy.path)");
        command->fallthrough();
    }
}

void add_attack(CLI::App& app, CommandLine& line) {
    CLI::App* attack = app.add_subcommand("attack", "Try to break out of this installation's jars");
    attack->add_option("--only", line.attack.only, "Only the attack of this name; may be repeated");
    attack->add_flag("--list", line.list_attacks, "Show the attacks instead of trying them");
    attack->add_flag("--every-mode", line.attack_every_mode,
                     "In each launch mode that is possible here, not only the strongest");
    attack->add_flag("--json", line.json, "For programs");
    attack->footer(
        "Exit code: 0 if everything held, 1 if something was broken, 125 if Belljar could "
        "not try.\nA known gap names the layer that is missing here; it is not counted "
        "as broken.");
}

void add_token(CLI::App& app, CommandLine& line) {
    CLI::App* token = app.add_subcommand("token", "Make, list and revoke tokens of callers");
    token->require_subcommand(1);
    token->add_option("--data-dir", line.data_directory,
                      "The one of the server (/var/lib/belljar)");
    CLI::App* create = token->add_subcommand("create", "Make a token and print it, this once");
    create->add_option("NAME", line.token.name, "Whom it stands for")->required();
    create->add_option("--role", line.token.roles,
                       "admin, operator, user (default), auditor, or the name of a tool set; "
                       "may be repeated");
    create->add_option("--expires", line.token.expires, "Such as 30d or 12h; never (default)");
    create->add_option("--requests-per-minute", line.token.limits.requests_per_minute,
                       "0: no limit; without the option that of everybody, here and below");
    create->add_option("--concurrent-runs", line.token.limits.concurrent_runs, "Runs at once");
    create->add_option("--runs-per-day", line.token.limits.runs_per_day, "A day is one of UTC");
    create->add_option("--cpu-seconds-per-day", line.token.limits.cpu_seconds_per_day,
                       "Of all its runs");
    create->add_option("--storage", line.token.storage, "Files it may keep, such as 500m");
    create->add_option("--profile", line.token_profile, "Of policy, for its runs");
    create->add_flag("--token-stdin", line.token_from_input,
                     "Take the token from standard input: at least 32 characters");
    create->add_flag("--json", line.json, "For programs");
    CLI::App* list = token->add_subcommand("list", "Names, roles and expiry; never the tokens");
    list->add_flag("--json", line.json, "For programs");
    CLI::App* revoke = token->add_subcommand("revoke", "Make a token worthless");
    revoke->add_option("NAME", line.token.name, "As in the list")->required();
    for (CLI::App* command : {create, list, revoke}) {
        command->fallthrough();
    }
    token->footer("A running server sees the change with the next request. Only hashes are kept.");
}

int manage_tokens(const CLI::App& app, const belljar::config::Loaded& loaded, CommandLine& line) {
    const CLI::App* token = app.get_subcommand("token");
    line.token.deed = token->got_subcommand("create")   ? TokenOptions::Deed::Create
                      : token->got_subcommand("revoke") ? TokenOptions::Deed::Revoke
                                                        : TokenOptions::Deed::List;
    line.token.source =
        line.token_from_input ? TokenOptions::Source::StandardInput : TokenOptions::Source::Random;
    line.token.form = line.json ? OutputForm::Json : OutputForm::Text;
    line.token.limits.profile = if_given(line.token_profile);
    if (line.token.roles.empty()) {
        line.token.roles = {"user"};
    }
    return belljar::apps::manage_tokens(loaded, line.token);
}

void add_conversations(CLI::App& app, CommandLine& line) {
    CLI::App* conversations =
        app.add_subcommand("conversations", "Look after the files that a server keeps");
    conversations->require_subcommand(1);
    conversations->add_option("--data-dir", line.data_directory,
                              "The one of the server (/var/lib/belljar)");
    CLI::App* list = conversations->add_subcommand("list", "All of them, with size and last use");
    CLI::App* usage = conversations->add_subcommand("usage", "What each caller has and may have");
    CLI::App* remove = conversations->add_subcommand("delete", "Remove one with all its files");
    remove->add_option("PRINCIPAL", line.conversations.principal, "As in the list")->required();
    remove->add_option("CONVERSATION", line.conversations.conversation_id, "As in the list")
        ->required();
    CLI::App* cleanup =
        conversations->add_subcommand("cleanup", "Remove what the configuration says should go");
    cleanup->add_flag("--dry-run", line.conversations.dry_run, "Only say what would go, and why");
    cleanup->add_option("--idle", line.conversations.idle,
                        "Not used for so long, such as 720h (storage.conversation_idle)");
    for (CLI::App* command : {list, usage, cleanup}) {
        command->add_flag("--json", line.json, "For programs");
    }
    for (CLI::App* command : {list, usage, remove, cleanup}) {
        command->fallthrough();
    }
    conversations->footer("Works beside a running server. One that is in use stays.");
}

int manage_conversations(const CLI::App& app, const belljar::config::Loaded& loaded,
                         CommandLine& line) {
    using Deed = ConversationOptions::Deed;
    const CLI::App* chosen = app.get_subcommand("conversations");
    line.conversations.deed = chosen->got_subcommand("usage")     ? Deed::Usage
                              : chosen->got_subcommand("delete")  ? Deed::Delete
                              : chosen->got_subcommand("cleanup") ? Deed::Cleanup
                                                                  : Deed::List;
    line.conversations.form = line.json ? OutputForm::Json : OutputForm::Text;
    return belljar::apps::manage_conversations(loaded, line.conversations);
}

void add_others(CLI::App& app, CommandLine& line) {
    CLI::App* mcp =
        app.add_subcommand("mcp", "Speak MCP over standard input and output, for one local user");
    mcp->add_flag("--conformance", line.conformance, kConformanceHelp);
    CLI::App* doctor = app.add_subcommand("doctor", "Check this host and say how to fix it");
    doctor->add_flag("--json", line.json, "For programs");
    doctor->footer(
        "Exit code: 0 if jars have standard or full isolation, 1 if something is bad or "
        "isolation.require is not met,\n3 if it is met with less than standard.");
    CLI::App* config = app.add_subcommand("config", "Show the configuration");
    config->require_subcommand(1);
    config->add_subcommand("show", "Every value in force and where it came from")->fallthrough();
    config->add_subcommand("reference", "A configuration file with every key and its default");
    app.add_subcommand("version", "Print the version");
}

int run_one(const belljar::config::Loaded& loaded, CommandLine& line) {
    line.run.timeout = if_given(line.run_timeout);
    line.run.memory = if_given(line.run_memory);
    line.run.cpu = if_given(line.run_cpu);
    line.run.processes = if_given(line.run_processes);
    line.run.max_output = if_given(line.run_max_output);
    line.run.conversation = if_given(line.run_conversation);
    line.run.profile = if_given(line.run_profile);
    return belljar::apps::run_program(loaded, line.run);
}

// Of a configuration that cannot be used. Where 1 is an answer, that is none.
int code_of_failure(const CLI::App& app) {
    const bool answers =
        app.got_subcommand("run") || app.got_subcommand("validate") || app.got_subcommand("attack");
    return answers ? belljar::apps::kExitFault : belljar::apps::kExitFailed;
}

int dispatch(const CLI::App& app, CommandLine& line) {
    if (app.got_subcommand("version")) {
        fmt::print("belljar {}\n", BELLJAR_VERSION);
        return 0;
    }
    const CLI::App* config = app.get_subcommand("config");
    if (config->got_subcommand("reference")) {
        fmt::print("{}", belljar::config::render_reference());
        return 0;
    }
    const belljar::Result<belljar::config::Loaded> loaded = load(line);
    if (!loaded) {
        belljar::apps::complain(loaded.error());
        return code_of_failure(app);
    }
    const Fixtures fixtures = line.conformance ? Fixtures::Present : Fixtures::Absent;
    const OutputForm form = line.json ? OutputForm::Json : OutputForm::Text;
    if (app.got_subcommand("serve")) {
        return belljar::apps::serve(*loaded, fixtures);
    }
    if (app.got_subcommand("mcp")) {
        return belljar::apps::speak_mcp(*loaded, fixtures);
    }
    if (app.got_subcommand("doctor")) {
        return belljar::apps::examine_host(*loaded, form);
    }
    if (app.got_subcommand("token")) {
        return manage_tokens(app, *loaded, line);
    }
    if (app.got_subcommand("admin")) {
        return belljar::apps::administer(app, *loaded, line.admin);
    }
    if (app.got_subcommand("audit")) {
        return belljar::apps::examine_trail(app, *loaded, line.audit);
    }
    if (app.got_subcommand("tools")) {
        return belljar::apps::manage_tools(app, *loaded, line.tools);
    }
    if (app.got_subcommand("conversations")) {
        return manage_conversations(app, *loaded, line);
    }
    if (app.got_subcommand("validate")) {
        line.validate.form = form;
        return belljar::apps::validate_program(*loaded, line.validate);
    }
    if (app.got_subcommand("policy")) {
        using Deed = belljar::apps::PolicyOptions::Deed;
        const CLI::App* policy = app.get_subcommand("policy");
        line.policy.deed = policy->got_subcommand("show")     ? Deed::Show
                           : policy->got_subcommand("schema") ? Deed::Schema
                                                              : Deed::Check;
        return belljar::apps::manage_policy(*loaded, line.policy);
    }
    if (app.got_subcommand("attack")) {
        line.attack.form = form;
        line.attack.modes =
            line.attack_every_mode ? AttackOptions::Modes::Every : AttackOptions::Modes::Chosen;
        line.attack.deed = line.list_attacks ? AttackOptions::Deed::List : AttackOptions::Deed::Try;
        return belljar::apps::attack(*loaded, line.attack);
    }
    if (app.got_subcommand("run")) {
        line.run.form = form;
        return run_one(*loaded, line);
    }
    fmt::print("{}", belljar::config::render(*loaded));
    return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (const auto opened = belljar::open_missing_standard_descriptors(); !opened) {
        return belljar::apps::kExitFault;
    }
    CommandLine line;
    CLI::App app("Belljar runs untrusted code under glass.", "belljar");
    app.footer(kFooter);
    app.require_subcommand(1);
    app.set_version_flag("--version", fmt::format("belljar {}", BELLJAR_VERSION));
    add_config(app, line);
    add_serve(app, line);
    add_run(app, line);
    add_policy(app, line);
    add_attack(app, line);
    add_token(app, line);
    belljar::apps::add_admin(app, line.admin, line.data_directory);
    add_conversations(app, line);
    belljar::apps::add_audit(app, line.audit, line.data_directory);
    belljar::apps::add_tools(app, line.tools);
    add_others(app, line);
    // Before or after the command, as people type it.
    for (CLI::App* command : app.get_subcommands({})) {
        add_config(*command, line);
    }
    std::vector<std::string> words(arguments + 1, arguments + argument_count);
    line.run.arguments = split_program_arguments(words);
    std::ranges::reverse(words);  // as CLI11 takes them
    try {
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error, std::cout, std::cerr);
        return code == 0 ? 0 : belljar::apps::kExitUsage;
    }
    return dispatch(app, line);
}
