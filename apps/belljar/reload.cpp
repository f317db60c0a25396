#include "reload.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "config/value.h"

namespace belljar::apps {
namespace {

void copy_value(const config::Key& key, config::Settings& from, config::Settings& to) {
    const config::Slot target = key.slot(to);
    std::visit([&target](auto* source) { *std::get<decltype(source)>(target) = *source; },
               key.slot(from));
}

}  // namespace

Reload::Reload(config::Loaded loaded, const Log& log) : loaded_(std::move(loaded)), log_(log) {}

void Reload::on_change(std::vector<std::string_view> keys, Apply apply) {
    subscribers_.push_back({.keys = std::move(keys), .apply = std::move(apply)});
}

void Reload::on_reload(Apply apply) { on_change({}, std::move(apply)); }

void Reload::run() {
    const Result<config::Loaded> fresh = config::load(loaded_.inputs);
    if (!fresh) {
        log_.error("the configuration is not valid; the one in force stays",
                   {{"reason", fresh.error().message}});
        if (watch_) {
            watch_(std::nullopt);
        }
        tell({});
        return;
    }
    const std::vector<std::string_view> changed = take_over(*fresh);
    log_.info("the configuration was read again",
              {{"changed", static_cast<std::int64_t>(changed.size())}});
    if (watch_) {
        watch_(changed);
    }
    tell(changed);
}

std::vector<std::string_view> Reload::take_over(const config::Loaded& fresh) {
    std::vector<std::string_view> taken;
    config::Settings wanted = fresh.settings;
    for (std::size_t index = 0; index < loaded_.entries.size(); ++index) {
        config::Entry& entry = loaded_.entries[index];
        const config::Key& key = *entry.key;
        if (config::text_of(loaded_.settings, key) == config::text_of(wanted, key)) {
            continue;
        }
        const std::string& text = fresh.entries[index].text;
        const bool secret = key.secrecy == config::Secrecy::Secret;
        const std::string_view from = secret ? "(secret)" : std::string_view(entry.text);
        const std::string_view to = secret ? "(secret)" : std::string_view(text);
        if (!is_taken(key.name)) {
            log_.warning("a setting has changed that needs a restart",
                         {{"key", key.name}, {"in_force", from}, {"wanted", to}});
            continue;
        }
        log_.info("a setting has changed", {{"key", key.name}, {"from", from}, {"to", to}});
        copy_value(key, wanted, loaded_.settings);
        entry = fresh.entries[index];
        taken.push_back(key.name);
    }
    return taken;
}

bool Reload::is_taken(std::string_view key) const {
    return std::ranges::any_of(subscribers_, [key](const Subscriber& subscriber) {
        return std::ranges::find(subscriber.keys, key) != subscriber.keys.end();
    });
}

void Reload::tell(const std::vector<std::string_view>& changed) {
    for (const Subscriber& subscriber : subscribers_) {
        const bool concerned =
            subscriber.keys.empty() ||
            std::ranges::any_of(subscriber.keys, [&changed](std::string_view key) {
                return std::ranges::find(changed, key) != changed.end();
            });
        if (!concerned) {
            continue;
        }
        if (const Result<void> applied = subscriber.apply(loaded_.settings); !applied) {
            log_.error("a change could not be applied", {{"reason", applied.error().describe()}});
        }
    }
}

}  // namespace belljar::apps
