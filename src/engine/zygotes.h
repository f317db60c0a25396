#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <list>

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
        std::uint64_t forks = 1000;
        Duration age = std::chrono::minutes(10);
    };

    // Whether a guest that this zygote forks is in a jar that holds.
    using Trial = std::function<Task<Result<void>>(const runner::Manifest*, std::uint32_t)>;

    // Borrows the link and the manifests.
    Zygotes(const asio::any_io_executor& executor, WardenLink& warden, const Log& log,
            Lifetime lifetime, Trial trial);

    void start(const std::vector<runner::Manifest>& manifests);
    // Who forks the next guest; 0: nobody is ready, the command has to be executed.
    [[nodiscard]] std::uint32_t take(const runner::Manifest& manifest);
    [[nodiscard]] bool ready(const runner::Manifest& manifest) const;
    // The first one is on its way: soon there will be one, or the news that there is none.
    [[nodiscard]] bool awaited(const runner::Manifest& manifest) const;
    // Called when one is ready and when one is gone.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

   private:
    struct Slot {
        const runner::Manifest* manifest;
        asio::steady_timer again;
        std::uint32_t current = 0;
        std::uint32_t coming = 0;
        std::uint64_t forks = 0;
        TimePoint since{};
        TimePoint ordered{};  // the coming one
        Duration pause{};
    };

    void add(const runner::Manifest& manifest);
    void begin(Slot& slot);
    void begin_later(Slot& slot);
    void on_state(std::uint32_t zygote, bool ready);
    Task<void> try_out(Slot* slot, std::uint32_t zygote);

    asio::any_io_executor executor_;
    WardenLink& warden_;
    const Log& log_;
    Lifetime lifetime_;
    Trial trial_;
    std::function<void()> changed_ = [] {};
    std::list<Slot> slots_;
};

}  // namespace belljar::engine
