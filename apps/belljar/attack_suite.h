#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attack_catalog.h"
#include "attack_outside.h"
#include "attack_rendezvous.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "runtime.h"

namespace belljar::apps {

enum class Verdict {
    Held,
    Broken,
    KnownGap,       // it succeeded, and the isolation names the layer that is missing
    NotApplicable,  // nothing of what it attacks exists
};

// What came of one attack.
struct Finding {
    const Attack* attack = nullptr;  // of the catalogue, which outlives this
    Verdict verdict = Verdict::Broken;
    std::string seen{};
    Duration wall{};
};

// Tries attacks one after the other against one installation. Borrows both; on the I/O thread.
class AttackSuite {
   public:
    AttackSuite(Runtime& runtime, Outside& outside, std::string mode)
        : runtime_(runtime), outside_(outside), mode_(std::move(mode)) {}

    // Calls `on_finding` after each. Cancelled if stop() was called meanwhile.
    Task<Result<void>> run(std::vector<const Attack*> attacks,
                           std::function<void(Finding)> on_finding);
    void stop();

   private:
    using Run = Result<execution::RunResult>;

    Task<Finding> try_attack(const Attack* attack);
    Task<Trial> stage(const Attack* attack);
    Task<void> run_alone(const Attack* attack, Trial* trial);
    Task<void> run_in_turn(const Attack* attack, Trial* trial);
    Task<void> run_pair(const Attack* attack, Trial* trial);
    Task<void> run_watched(const Attack* attack, Trial* trial);
    Task<void> run_crowded(const Attack* attack, Trial* trial);
    Task<Run> run_guest(const Attack* attack, const Trial* trial, std::string role,
                        Rendezvous* rendezvous);
    Task<Run> run_neighbour();
    // What is still there of jars when there has been time enough for them to go; empty if nothing.
    Task<std::string> await_quiet();

    [[nodiscard]] execution::RunRequest make_request(const Attack& attack, const Trial& trial,
                                                     std::string_view role) const;
    [[nodiscard]] std::string missing_layer(const Attack& attack) const;
    [[nodiscard]] std::vector<std::string> find_faults(const Attack& attack, const Trial& trial);

    Runtime& runtime_;
    Outside& outside_;
    std::string mode_;
    bool stopped_ = false;
    std::vector<engine::CancellationPtr> running_;
};

}  // namespace belljar::apps
