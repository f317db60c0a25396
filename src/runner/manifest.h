#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::runner {

// How much of /proc its programs see: their own processes, or the machine's figures too.
enum class ProcView { ProcessesOnly, Masked };

// Whether memory may be writable and executable, as just-in-time compilers need it.
enum class WriteExecute { Allowed, Denied };

// One language: how its programs are started inside a jar. Read from runners/*.toml.
struct Manifest {
    std::string language{};
    std::vector<std::string> aliases{};
    std::string runner{};
    std::string bootstrap{};  // text of the guest program that starts the code, all parts of it
    std::vector<std::string> command{};
    std::vector<std::string> environment{};
    // The same text as a file that nobody can change, for all guests.
    std::shared_ptr<const Fd> program{};
    // What a guest that waits for its program is taken to hold, its jar included.
    Bytes ready_memory = mebibytes(16);
    // At most so many wait without demand, where one costs more than others.
    std::optional<std::size_t> ready{};
    // Modules of an interpreter that stays warm and forks guests; none: each guest starts its own.
    std::vector<std::string> preload{};
    ProcView proc = ProcView::ProcessesOnly;
    WriteExecute write_execute = WriteExecute::Denied;
    // Text of a program in the language that fails with a sentence unless the jar around it holds,
    // and whose value is the language's version. Its arguments name layers that jars lack here.
    std::string self_test{};
};

[[nodiscard]] Result<Manifest> parse_manifest(std::string_view name, std::string_view text);

// The languages this installation knows.
class Runners {
   public:
    // The manifests that are part of the binary.
    static Result<Runners> create();

    // By language name or alias, without regard to case.
    [[nodiscard]] const Manifest* find(std::string_view language) const;
    [[nodiscard]] const std::vector<Manifest>& all() const { return manifests_; }
    // Forgets a language that cannot be used here. Not once anybody holds a manifest.
    void remove(std::string_view language);
    // "python, javascript", for messages.
    [[nodiscard]] std::string names() const;

   private:
    std::vector<Manifest> manifests_;
};

}  // namespace belljar::runner
