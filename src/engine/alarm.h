#pragma once

#include <functional>
#include <optional>
#include <string>

#include "alerts/holds.h"
#include "alerts/watchtower.h"
#include "base/log.h"
#include "engine/kept_conversations.h"
#include "engine/overseer.h"

namespace belljar::engine {

// Makes events of what runs do, counts them by the rules, tells whoever wants to know and does what
// a rule says. Refuses the runs of who is blocked and of conversations in quarantine. On the I/O
// thread; nothing here waits.
class Alarm final : public Overseer {
   public:
    // How it reaches others. Any may be missing.
    struct Hands {
        std::function<void(std::string principal)> end_all{};
        std::function<void(std::string execution_id)> end_run{};
        std::function<void(std::string principal, std::string conversation_id)> end_sessions{};
        // Other overseers, who are told of alerts as of any other event.
        std::function<void(const execution::SecurityEvent&)> notice{};
        std::function<void(const std::optional<std::string>& principal, std::string)> show{};
        std::function<void(std::string)> post{};
        std::function<void(std::string)> keep{};  // what is held, for the next start
    };

    Alarm(alerts::Rules rules, alerts::Holds holds, const Log& log);

    void reach(Hands hands) { hands_ = std::move(hands); }
    void set_rules(alerts::Rules rules) { tower_.set_rules(std::move(rules)); }
    // Tells if it is not the one that was in force when this last ran.
    void see_grade(const std::string& grade);

    Result<void> admit(const execution::RunRequest& request) override;
    Result<void> record(const execution::RunAccount& account,
                        const Result<execution::RunResult>& result) override;
    void notice(const execution::SecurityEvent& event) override;

    // Of an operator; `by` is its name.
    void block(const std::string& principal, Duration time, std::string reason,
               const std::string& by);
    Result<void> lift_block(const std::string& principal, const std::string& by);
    Result<void> quarantine(const execution::FileName& conversation, std::string reason,
                            const std::string& by);
    Result<void> lift_quarantine(const execution::FileName& conversation, const std::string& by);

    [[nodiscard]] const alerts::Watchtower& tower() const { return tower_; }
    [[nodiscard]] const alerts::Holds& holds() const { return holds_; }
    // Refuses the files of conversations in quarantine.
    [[nodiscard]] KeptConversations::Guard guard() const;

   private:
    void raise(alerts::Alert alert);
    void respond(alerts::Alert& alert);
    void set_block(alerts::Block block);
    Result<void> set_quarantine(alerts::Quarantine quarantine);
    void keep() const;
    // To the other overseers: that something was done or lifted.
    void tell(std::string name, const std::string& principal, std::string text) const;

    alerts::Watchtower tower_;
    alerts::Holds holds_;
    Hands hands_;
    const Log& log_;
};

}  // namespace belljar::engine
