#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attack_catalog.h"
#include "attack_outside.h"
#include "attack_rendezvous.h"
#include "attack_verdict.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "runtime.h"

namespace belljar::apps {

// Tries attacks one after the other against one installation. Borrows both; on the I/O thread.
class AttackSuite {
   public:
    // `missing` are the layers that this installation lacks, as needs of attacks name them.
    AttackSuite(Runtime& runtime, Outside& outside, std::vector<std::string> missing)
        : runtime_(runtime), outside_(outside), missing_(std::move(missing)) {}

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

    Runtime& runtime_;
    Outside& outside_;
    std::vector<std::string> missing_;
    bool stopped_ = false;
    std::vector<engine::CancellationPtr> running_;
};

}  // namespace belljar::apps
