#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "execution/governance.h"
#include "execution/plan.h"
#include "policy/rulebook.h"

namespace belljar::engine {

// What the interpreter in a run's own jar finds in a program before it runs the first line of it,
// and what the profile makes of that. Nothing of the program has run when the guest says so, and
// the guest is as pristine as one that does nothing but read.
class FirstReading {
   public:
    // The profile is one of the rules. `approved`: a person has agreed to what it would be asked
    // about.
    FirstReading(std::shared_ptr<const policy::Rulebook> rules, const policy::Profile& profile,
                 bool approved);

    [[nodiscard]] std::shared_ptr<const execution::ReadingOrder> order() const;
    // Called once, when the program is known to run or to have run.
    void on_pass(std::function<void()> handler) { on_pass_ = std::move(handler); }

    // What the guest wrote. False if the program may not run.
    bool take(std::string_view line, std::string_view mark);
    // Its guest has ended: what was found. One that said nothing could not read the program, and
    // did not run it.
    const std::vector<execution::Finding>& close();
    [[nodiscard]] const std::vector<execution::Finding>& findings() const { return findings_; }
    // After that: Denied with the reason if the program was not to run.
    [[nodiscard]] Result<void> verdict(const execution::RunPlan& plan) const;

   private:
    // Of the findings, what keeps the program from running; Note: nothing does.
    [[nodiscard]] execution::ScanAction gravest() const;
    void pass();

    std::shared_ptr<const policy::Rulebook> rules_;
    const policy::Profile& profile_;
    bool approved_;
    bool came_ = false;
    bool runs_ = false;
    std::vector<execution::Finding> findings_;
    std::function<void()> on_pass_;
};

}  // namespace belljar::engine
