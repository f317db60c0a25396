#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "execution/governance.h"
#include "execution/limits.h"
#include "execution/session.h"

namespace belljar::execution {

// What became of a run, decided by outcome/verdict.cpp from our own records and kernel counters.
enum class Status {
    Ok,
    Error,
    Timeout,
    Memory,
    Processes,
    Disk,
    Output,
    Killed,
    Denied,
    Cancelled,
};

[[nodiscard]] std::string_view name_of(Status status);

enum class OutputStream { Stdout, Stderr };

[[nodiscard]] std::string_view name_of(OutputStream stream);

// One output stream as it is given to the caller: the beginning and the end if it was too long.
struct CapturedStream {
    std::string text{};
    bool truncated = false;
    std::uint64_t bytes = 0;  // written by the guest, kept or not
};

// What a representation of a MIME type consists of.
enum class Encoding { Text, Json, Binary };

[[nodiscard]] Encoding encoding_of(std::string_view mime);

// A rich value: one representation per MIME type. Text is valid UTF-8, JSON is text that parses;
// everything else is bytes.
struct Output {
    std::map<std::string, std::string> bundle{};
};

// Whether the guest's own report came as it was sent. A program that ends without the interpreter's
// knowledge sends none; one that writes to the channel damages it.
enum class Report { Whole, Missing, Damaged };

[[nodiscard]] std::string_view name_of(Report report);

// A file of the conversation that the run has created, changed or deleted.
struct ProducedFile {
    std::string name{};
    std::string change = "created";
    std::uint64_t size = 0;
    std::string mime{};
    std::string sha256{};
    std::string url{};
    std::string uri{};
};

// An error raised by the guest's own code.
struct GuestError {
    std::string type{};
    std::string message{};
    std::optional<int> line{};
    std::optional<std::string> traceback{};
    std::optional<int> sys_errno{};     // what the system said, if that was the cause
    std::optional<std::string> path{};  // and of which file
};

// Who says that something was refused: our own record of a limit, the kernel, or only the guest.
enum class DenialSource { Limit, Kernel, Guest };

[[nodiscard]] std::string_view name_of(DenialSource source);

// Something the guest tried and was refused, in words a model can act on.
struct Denial {
    std::string what{};  // continues "the program ..."
    std::string rule{};  // a stable dotted name
    std::string hint{};
    DenialSource source = DenialSource::Limit;
};

struct Usage {
    Duration wall{};
    Duration cpu{};
    std::uint64_t memory_peak_bytes = 0;
    std::uint64_t disk_written_bytes = 0;
    std::uint64_t processes_peak = 0;
};

// Where the time of a run went, one step after the other.
struct Timing {
    Duration admission{};    // waiting for its turn
    Duration jar{};          // until its guest could start
    Duration guest_start{};  // until the interpreter awaited the program
    Duration run{};          // of the program
    Duration collect{};      // the jar's end, its counters, what was left to read
    Duration record{};       // making the result of it
    bool jar_ready = false;  // made before there was a request
};

struct TimingStep {
    std::string_view name;
    Duration Timing::* time;
};

inline constexpr std::array<TimingStep, 6> kTimingSteps{{{"admission", &Timing::admission},
                                                         {"jar", &Timing::jar},
                                                         {"guest_start", &Timing::guest_start},
                                                         {"run", &Timing::run},
                                                         {"collect", &Timing::collect},
                                                         {"record", &Timing::record}}};

// The isolation that really held for this run.
struct Isolation {
    std::string grade{};
    std::string tier{};
    std::string mode{};  // root, rootless or nested
    std::vector<std::string> missing{};

    bool operator==(const Isolation&) const = default;
};

// The one record that everything which runs code produces; each dialect is a view of it.
struct RunResult {
    std::string execution_id{};
    std::optional<std::string> conversation_id{};
    std::optional<std::string> session_id{};
    std::string language{};
    std::string runner{};
    Status status = Status::Error;
    std::optional<int> exit_code{};
    std::optional<int> signal{};
    CapturedStream stdout_stream{};
    CapturedStream stderr_stream{};
    std::optional<std::string> full_output{};  // where the uncut streams are, if one was cut
    std::optional<std::string> result_json{};  // JSON text of the last expression's value
    std::optional<std::string> result_repr{};
    std::vector<std::string> variables{};
    std::vector<Output> outputs{};
    std::uint64_t outputs_omitted = 0;  // representations that were too many or too large
    Report report = Report::Whole;
    std::vector<ProducedFile> files{};
    std::optional<GuestError> error{};
    std::vector<Denial> denials{};
    std::vector<CappedLimit> capped{};
    Usage usage{};
    Limits limits{};  // under which it ran
    Isolation isolation{};
    std::optional<CellNews> session{};  // if it was a cell of one
    Timing timing{};
    std::string profile{};  // under which it ran
    std::string policy_version{};
    std::string tools_digest{};                  // of the approved tools that it could import
    std::vector<Finding> findings{};             // of the scanner, before it ran
    std::vector<std::string> refused_imports{};  // modules, by the guest's own word
    MaskCounts masked{};                         // of its output
    FileAccess file_access{};
    NetworkAttempts network_attempts{};
    std::optional<std::string> trace{};  // id of the caller's trace
    bool debug = false;                  // whether the caller wants to see it

    [[nodiscard]] bool success() const { return status == Status::Ok; }
};

}  // namespace belljar::execution
