#include "attack_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "attack_files.h"
#include "attack_judges.h"

namespace belljar::apps {
namespace {

using execution::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Row {
    std::string_view name;  // tests/attack/<name>.py
    Conduct conduct{};
};

// However a program ends that fights over a scarce resource: the limit has to hold, not the
// program.
constexpr StatusSet kAnyEnd{Status::Ok,        Status::Error, Status::Timeout, Status::Memory,
                            Status::Processes, Status::Disk,  Status::Killed};
constexpr StatusSet kOutOfMemory{Status::Ok, Status::Memory, Status::Disk, Status::Killed};
constexpr Bytes kLittleMemory = mebibytes(64);

const auto kReachingOut = std::to_array<Row>({
    {"host_flag"},
    {"posture", {.staging = Staging::Watched, .judge = judge_posture}},
    {"capabilities"},
    {"filter_mode"},
    {"setuid_file"},
    {"nested_namespaces"},
    {"mount_calls"},
    {"remount_writable"},
    {"page_cache", {.staging = Staging::InTurn, .judge = judge_same_files}},
    {"init_memory"},
    {"init_limits"},
    {"foreign_parent"},
    {"exe_overwrite"},
    {"leaked_descriptors"},
    {"working_directory"},
    {"mount_names"},
    {"proc_files"},
    {"device_nodes"},
    {"foreign_abi"},
    {"foreign_abi_verdict",
     {.statuses = {Status::Denied, Status::Killed, Status::Ok}, .judge = judge_foreign_abi}},
    {"socket_families"},
    {"tls_ulp"},
    {"io_uring"},
    {"kernel_surface"},
    {"futex_pi"},
    {"syscall_sweep", {.timeout = seconds(30)}},
    {"terminal_input"},
    {"second_fence"},
    {"signals_out"},
    {"server_limits"},
    {"host_metadata"},
    {"no_network"},
    {"abstract_socket"},
    {"pathname_socket"},
    {"secret_hunt", {.timeout = seconds(30)}},
});

const auto kNeighbours = std::to_array<Row>({
    {"peer_files", {.staging = Staging::Pair}},
    {"peer_ipc", {.staging = Staging::Pair}},
    {"peer_after", {.staging = Staging::InTurn, .judge = judge_fresh_user}},
    {"peer_locks", {.staging = Staging::Pair}},
    {"peer_device_locks", {.staging = Staging::Pair}},
});

const auto kExhaustion = std::to_array<Row>({
    {"fork_bomb", {.statuses = kAnyEnd, .judge = judge_process_peak}},
    {"shell_bomb",
     {.staging = Staging::Crowded,
      .statuses = kAnyEnd,
      .timeout = seconds(5),
      .judge = judge_bomb}},
    {"thread_bomb", {.statuses = kAnyEnd, .judge = judge_process_peak}},
    {"memory_heap", {.statuses = kOutOfMemory, .memory = kLittleMemory}},
    {"memory_files", {.statuses = kOutOfMemory, .memory = kLittleMemory}},
    {"memory_pipes", {.statuses = kOutOfMemory, .memory = kLittleMemory}},
    {"memory_inodes", {.statuses = kOutOfMemory, .memory = kLittleMemory}},
    {"memory_page_tables", {.statuses = kOutOfMemory, .memory = kLittleMemory}},
    {"memory_huge_pages", {.statuses = {Status::Ok, Status::Killed}}},
    {"disk_space", {.statuses = kOutOfMemory, .timeout = seconds(30)}},
    {"time_busy", {.statuses = {Status::Timeout}, .timeout = seconds(1), .judge = judge_deadline}},
    {"time_stopped",
     {.statuses = {Status::Timeout}, .timeout = seconds(1), .judge = judge_deadline}},
    {"time_orphans",
     {.statuses = {Status::Timeout}, .timeout = seconds(1), .judge = judge_deadline}},
    {"orphans_left"},
    {"output_flood",
     {.statuses = {Status::Output}, .timeout = seconds(30), .judge = judge_flat_memory}},
    {"output_strange", {.word = Word::Worthless, .judge = judge_strange_output}},
    {"core_dumps"},
    {"syscall_fuzz", {.statuses = kAnyEnd, .timeout = seconds(15), .word = Word::Worthless}},
});

const auto kVerdicts = std::to_array<Row>({
    {"forged_memory_verdict",
     {.statuses = {Status::Error}, .word = Word::Worthless, .judge = judge_exit<137>}},
    {"forged_timeout_verdict",
     {.statuses = {Status::Error}, .word = Word::Worthless, .judge = judge_exit<124>}},
    {"forged_success",
     {.statuses = {Status::Error}, .word = Word::Worthless, .judge = judge_exit<3>}},
    {"forged_signals",
     {.staging = Staging::InTurn,
      .statuses = {Status::Killed, Status::Denied},
      .word = Word::Worthless}},
    {"self_kill", {.statuses = {Status::Killed}, .word = Word::Worthless}},
    {"result_channel_closed", {.word = Word::Worthless, .judge = judge_no_result}},
    {"result_channel_forged",
     {.statuses = {Status::Error}, .word = Word::Worthless, .judge = judge_exit<3>}},
    {"hostile_files", {.judge = judge_returned_files}},
});

const auto kEarlierBreaks = std::to_array<Row>({
    {"typing_sys_modules"},
    {"log_store_popen"},
    {"json_codecs_open"},
    {"dunder_walk"},
    {"conversation_traversal", {.judge = judge_conversation}},
    {"upload_traversal",
     {.statuses = {Status::Ok, Status::Error}, .upload = Upload::Hostile, .judge = judge_upload}},
    {"afterwards"},
});

struct AbsentAttack {
    std::string_view name;
    std::string_view tries;
    std::string_view expects;
};

constexpr std::string_view kNoBroker = "no egress broker in this version";
constexpr std::array<AbsentAttack, 3> kAbsent{
    {{"proxy_names", "names that look allowed: NUL, octal address, zone id, user info",
      "only exactly allowed names are dialled"},
     {"proxy_rebind", "an allowed name that answers with a loopback address the second time",
      "refused at connect"},
     {"proxy_fronting", "an allowed server name with another host inside",
      "refused, or documented"}}};

std::optional<std::string_view> find_file(std::string_view path) {
    const auto files = attack_files();
    const auto file = std::ranges::find(files, path, &AttackFile::path);
    return file == files.end() ? std::nullopt : std::optional(file->content);
}

// "# key: value" among the comment lines at the top of a program.
std::string read_head(std::string_view program, std::string_view key) {
    const std::string wanted = fmt::format("# {}: ", key);
    while (program.starts_with('#')) {
        const std::string_view line = program.substr(0, program.find('\n'));
        if (line.starts_with(wanted)) {
            return std::string(line.substr(wanted.size()));
        }
        program.remove_prefix(std::min(program.size(), line.size() + 1));
    }
    return "";
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    for (const auto part : std::views::split(text, ' ')) {
        const std::string_view word(part.begin(), part.end());
        if (!word.empty()) {
            words.emplace_back(word.substr(0, word.find(',')));
        }
    }
    return words;
}

Result<Attack> read_attack(const Row& row) {
    const std::optional<std::string_view> program = find_file(fmt::format("{}.py", row.name));
    if (!program) {
        return fail(ErrorCode::Internal, fmt::format("the attack {} has no program", row.name));
    }
    Attack attack{.name = std::string(row.name),
                  .kind = read_head(*program, "class"),
                  .tries = read_head(*program, "tries"),
                  .expects = read_head(*program, "expects"),
                  .needs = split_words(read_head(*program, "needs")),
                  .program = std::string(*program),
                  .conduct = row.conduct};
    if (attack.kind.empty() || attack.tries.empty() || attack.expects.empty()) {
        return fail(ErrorCode::Internal,
                    fmt::format("the attack {} does not say what it is", row.name));
    }
    return attack;
}

Result<void> check_completeness(const std::vector<Attack>& catalog) {
    for (const AttackFile& file : attack_files()) {
        const std::string_view name = file.path.substr(0, file.path.rfind('.'));
        const bool support = file.path.find('/') != std::string_view::npos;
        if (!support && std::ranges::find(catalog, name, &Attack::name) == catalog.end()) {
            return fail(ErrorCode::Internal, fmt::format("the attack {} is never tried", name));
        }
    }
    return {};
}

}  // namespace

Result<std::vector<Attack>> read_attack_catalog() {
    std::vector<Attack> catalog;
    for (const std::span<const Row> rows :
         {std::span<const Row>(kReachingOut), std::span<const Row>(kNeighbours),
          std::span<const Row>(kExhaustion), std::span<const Row>(kVerdicts),
          std::span<const Row>(kEarlierBreaks)}) {
        for (const Row& row : rows) {
            BJ_TRY(Attack attack, read_attack(row));
            catalog.push_back(std::move(attack));
        }
    }
    BJ_TRY_VOID(check_completeness(catalog));
    for (const AbsentAttack& absent : kAbsent) {
        catalog.push_back({.name = std::string(absent.name),
                           .kind = "Exfil",
                           .tries = std::string(absent.tries),
                           .expects = std::string(absent.expects),
                           .not_applicable = std::string(kNoBroker)});
    }
    return catalog;
}

std::vector<std::pair<std::string, std::string>> attack_support_files() {
    constexpr std::string_view kFolder = "support/";
    std::vector<std::pair<std::string, std::string>> files;
    for (const AttackFile& file : attack_files()) {
        if (file.path.starts_with(kFolder)) {
            files.emplace_back(file.path.substr(kFolder.size()), file.content);
        }
    }
    return files;
}

}  // namespace belljar::apps
