#include "engine/zygotes.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <iterator>
#include <utility>

namespace belljar::engine {
namespace {

constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestStart = std::chrono::seconds(60);
constexpr Duration kLongestPause = std::chrono::minutes(1);

isolation::Command command_of(const runner::Manifest& manifest, bool reads) {
    isolation::Command command{.arguments = manifest.command, .environment = manifest.environment};
    command.arguments.emplace_back("zygote");
    // Or each guest would look up for itself the functions that the zygote has not called.
    command.environment.emplace_back("LD_BIND_NOW=1");
    if (reads && manifest.has_reader) {
        command.arguments.emplace_back("--reads");
    }
    std::ranges::copy(manifest.preload, std::back_inserter(command.arguments));
    return command;
}

}  // namespace

Zygotes::Zygotes(const asio::any_io_executor& executor, WardenLink& warden, const Log& log,
                 Lifetime lifetime, Trial trial)
    : executor_(executor),
      warden_(warden),
      log_(log),
      lifetime_(lifetime),
      trial_(std::move(trial)) {
    warden_.on_zygote([this](std::uint32_t zygote, bool ready) { on_state(zygote, ready); });
}

void Zygotes::serve(const std::vector<runner::ManifestPtr>& manifests) {
    std::erase_if(slots_, [&](const SlotPtr& slot) {
        const bool gone = std::ranges::find(manifests, slot->manifest) == manifests.end();
        if (gone) {
            retire(*slot);
        }
        return gone;
    });
    for (const runner::ManifestPtr& manifest : manifests) {
        if (!manifest->preload.empty() && slot_of(*manifest) == nullptr) {
            slots_.push_back(std::make_shared<Slot>(
                Slot{.manifest = manifest, .again = asio::steady_timer(executor_)}));
            begin(slots_.back());
        }
    }
}

void Zygotes::stop() {
    stopped_ = true;
    for (const SlotPtr& slot : slots_) {
        slot->again.cancel();
    }
}

bool Zygotes::ready(const runner::Manifest& manifest) const {
    const SlotPtr slot = slot_of(manifest);
    return slot != nullptr && slot->current != 0;
}

void Zygotes::retire(Slot& slot) {
    slot.retired = true;
    slot.again.cancel();
    for (std::uint32_t* zygote : {&slot.coming, &slot.current}) {
        if (*zygote != 0) {
            warden_.retire_zygote(std::exchange(*zygote, 0));
        }
    }
}

Zygotes::SlotPtr Zygotes::slot_of(const runner::Manifest& manifest) const {
    const auto found = std::ranges::find_if(
        slots_, [&](const SlotPtr& slot) { return slot->manifest.get() == &manifest; });
    return found == slots_.end() ? nullptr : *found;
}

std::uint32_t Zygotes::take(const runner::Manifest& manifest) {
    const SlotPtr slot = slot_of(manifest);
    if (slot == nullptr) {
        return 0;
    }
    if (slot->coming != 0 && Clock::now() - slot->ordered > kLongestStart) {
        log_.warning("a zygote does not become ready", {{"language", manifest.language}});
        warden_.retire_zygote(std::exchange(slot->coming, 0));
        begin(slot);
    }
    if (slot->current == 0) {
        return 0;
    }
    const bool old = ++slot->forks >= lifetime_.forks || Clock::now() - slot->since > lifetime_.age;
    if (old && slot->coming == 0) {
        begin(slot);
    }
    return slot->current;
}

bool Zygotes::awaited(const runner::Manifest& manifest) const {
    const SlotPtr slot = slot_of(manifest);
    return slot != nullptr && slot->current == 0 && slot->coming != 0;
}

void Zygotes::expect_readings(const runner::Manifest& manifest) {
    const SlotPtr slot = slot_of(manifest);
    if (slot == nullptr) {
        return;
    }
    slot->last_reading = Clock::now();
    if (!slot->reads && slot->current != 0 && slot->coming == 0) {
        begin(slot);
    }
}

void Zygotes::begin(const SlotPtr& slot) {
    if (stopped_) {
        return;
    }
    slot->reads = slot->last_reading && Clock::now() - *slot->last_reading < lifetime_.age;
    const Result<std::uint32_t> started = warden_.start_zygote(
        command_of(*slot->manifest, slot->reads), slot->manifest->bootstrap,
        slot->manifest->proc == runner::ProcView::Masked ? jar::ProcView::Masked
                                                         : jar::ProcView::ProcessesOnly);
    if (started) {
        slot->coming = *started;
        slot->ordered = Clock::now();
        return;
    }
    log_.warning("a zygote could not be started",
                 {{"language", slot->manifest->language}, {"reason", started.error().describe()}});
    begin_later(slot);
}

void Zygotes::begin_later(const SlotPtr& slot) {
    if (stopped_) {
        return;
    }
    slot->pause = std::clamp(slot->pause * 2, kFirstPause, kLongestPause);
    slot->again.expires_after(slot->pause);
    slot->again.async_wait([this, slot](const boost::system::error_code& stopped) {
        if (!stopped && !slot->retired && warden_.alive() && slot->coming == 0) {
            begin(slot);
        }
    });
}

void Zygotes::on_state(std::uint32_t zygote, bool ready) {
    for (const SlotPtr& slot : slots_) {
        if (slot->coming == zygote && ready) {
            asio::co_spawn(executor_, try_out(slot, zygote), asio::detached);
        } else if (slot->coming == zygote || slot->current == zygote) {
            (slot->coming == zygote ? slot->coming : slot->current) = 0;
            log_.warning("a zygote is gone", {{"language", slot->manifest->language}});
            begin_later(slot);
            changed_();
        }
    }
}

Task<void> Zygotes::try_out(SlotPtr slot, std::uint32_t zygote) {
    const Result<void> tried = co_await trial_(slot->manifest, zygote);
    if (slot->coming != zygote || !warden_.alive()) {
        co_return;
    }
    if (!tried) {
        log_.error("guests of a zygote are not used",
                   {{"language", slot->manifest->language}, {"reason", tried.error().describe()}});
        warden_.retire_zygote(zygote);  // its end brings the next one
        co_return;
    }
    const std::uint32_t old = std::exchange(slot->current, std::exchange(slot->coming, 0));
    if (old != 0) {
        warden_.retire_zygote(old);
    }
    slot->forks = 0;
    slot->since = Clock::now();
    slot->pause = {};
    changed_();
}

}  // namespace belljar::engine
