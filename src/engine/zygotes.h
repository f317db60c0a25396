#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "engine/warden_link.h"
#include "runner/manifest.h"

namespace belljar::engine {

// Keeps one warm interpreter for each runner that has modules to preload. Replaced after a number
// of forks or some minutes, so that no layout of memory and no hash seed serves for long; who dies
// is replaced too, later each time it happens in a row.
class Zygotes {
   public:
    struct Lifetime {
        std::uint64_t forks = 5000;
        Duration age = std::chrono::minutes(10);
    };

    // Whether a guest that this zygote forks is in a jar that holds.
    using Trial = std::function<Task<Result<void>>(runner::ManifestPtr, std::uint32_t)>;

    // Borrows the link.
    Zygotes(const asio::any_io_executor& executor, WardenLink& warden, const Log& log,
            Lifetime lifetime, Trial trial);

    // Keeps one for each of these that has modules to preload, and for no others.
    void serve(const std::vector<runner::ManifestPtr>& manifests);
    // Begins no more; those that there are end with the link to the warden.
    void stop();
    // Who forks the next guest; 0: nobody is ready, the command has to be executed.
    [[nodiscard]] std::uint32_t take(const runner::Manifest& manifest);
    [[nodiscard]] bool ready(const runner::Manifest& manifest) const;
    // The first one is on its way: soon there will be one, or the news that there is none.
    [[nodiscard]] bool awaited(const runner::Manifest& manifest) const;
    // A program came that its guest has to read first. From the next zygote on, which is ordered if
    // need be, guests are prepared for more of them, as long as they come.
    void expect_readings(const runner::Manifest& manifest);
    // Called when one is ready and when one is gone.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

   private:
    struct Slot {
        runner::ManifestPtr manifest;
        asio::steady_timer again;
        std::uint32_t current = 0;
        std::uint32_t coming = 0;
        std::uint64_t forks = 0;
        TimePoint since{};
        TimePoint ordered{};  // the coming one
        bool reads = false;   // the coming one, or else the current
        std::optional<TimePoint> last_reading{};
        bool retired = false;
        Duration pause{};
    };

    using SlotPtr = std::shared_ptr<Slot>;

    [[nodiscard]] SlotPtr slot_of(const runner::Manifest& manifest) const;
    void begin(const SlotPtr& slot);
    void begin_later(const SlotPtr& slot);
    void retire(Slot& slot);
    void on_state(std::uint32_t zygote, bool ready);
    Task<void> try_out(SlotPtr slot, std::uint32_t zygote);

    asio::any_io_executor executor_;
    WardenLink& warden_;
    const Log& log_;
    Lifetime lifetime_;
    Trial trial_;
    std::function<void()> changed_ = [] {};
    std::list<SlotPtr> slots_;
    bool stopped_ = false;
};

}  // namespace belljar::engine
