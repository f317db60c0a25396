#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/limit_choices.h"

namespace belljar::runner {

// How much of /proc its programs see: their own processes, or the machine's figures too.
enum class ProcView { ProcessesOnly, Masked };

// Whether memory may be writable and executable, as just-in-time compilers need it.
enum class WriteExecute { Allowed, Denied };

// Whether an interpreter of the language can stay between runs: as one process, or with copies of
// each state, so that a cell can be undone.
enum class SessionKind { None, Process, Copies };

// What a server does that cannot use the language: go on without it, or not start.
enum class Need { Optional, Required };

// The step before the run, of languages that have one. Its time is part of the run's.
struct Compile {
    std::vector<std::string> command{};  // none: nothing is compiled
    Duration timeout = std::chrono::seconds(30);
    Bytes memory{};  // of each of its processes; none: what the jar has

    bool operator==(const Compile&) const = default;
};

// The text of a bootstrap as a file that nobody can change, for all guests. What it says is
// compared by its text.
struct SharedProgram {
    std::shared_ptr<const Fd> file{};

    bool operator==(const SharedProgram& /*other*/) const { return true; }
};

// One language: how its programs are started inside a jar. Every key is explained in
// docs/RUNNERS.md.
struct Manifest {
    std::string language{};
    std::string title{};  // for people
    std::vector<std::string> aliases{};
    std::string runner{};
    Need need = Need::Optional;
    std::vector<std::string> detect{};  // paths inside the jar, of which one must exist
    std::vector<std::string> version{};
    std::string version_prefix{};  // of the first line that the command `version` writes
    // Text of the guest program that starts the code, all parts of it. Empty: the code becomes the
    // file `file`, and the jar's launcher executes the commands.
    // Behind it, after a zero byte, stands the program that reads code, if there is one.
    std::string bootstrap{};
    bool has_reader = false;
    SharedProgram program{};
    std::string file{};
    Compile compile{};
    std::vector<std::string> command{};
    std::vector<std::string> environment{};
    // Modules of an interpreter that stays warm and forks guests; none: each guest starts its own.
    std::vector<std::string> preload{};
    SessionKind session = SessionKind::None;
    // What a guest that waits for its program is taken to hold, its jar included.
    Bytes ready_memory = mebibytes(16);
    std::optional<std::uint32_t> ready{};  // jars made ahead; nothing: as for every language
    ProcView proc = ProcView::ProcessesOnly;
    WriteExecute write_execute = WriteExecute::Denied;
    execution::LimitChoices limits{};
    // Text of a program in the language that fails with a sentence unless the jar around it holds,
    // and whose value (without a bootstrap: whose first line) is the language's version. Its
    // arguments name layers that jars lack here.
    std::string self_test{};
    // The same language with more modules preloaded, for programs that mention one of its words.
    std::shared_ptr<const Manifest> specialist{};
    std::vector<std::string> words{};  // of a specialist

    [[nodiscard]] bool has_launcher() const { return bootstrap.empty(); }
    bool operator==(const Manifest&) const = default;
};

// Running runs keep theirs, whatever is read later.
using ManifestPtr = std::shared_ptr<const Manifest>;

// The specialist of the manifest if the code is for it, else the manifest.
[[nodiscard]] ManifestPtr suited(const ManifestPtr& manifest, std::string_view code);

// Gives the text of a guest program by the name that a manifest uses.
using GuestProgram = std::function<Result<std::string>(const std::string& name)>;

// One that is part of this binary, below guest/.
[[nodiscard]] Result<std::string> embedded_guest_program(const std::string& name);

// `name` is how messages call the file; they say what is wrong, in which line and what is allowed.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view name, std::string_view text,
                                              const GuestProgram& program = embedded_guest_program);

}  // namespace belljar::runner
