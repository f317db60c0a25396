#include "config/draft.h"

#include <fmt/format.h>

#include <utility>

namespace belljar::config {

Draft::Draft() : origins_(all_keys().size()) {
    for (const Key& key : all_keys()) {
        set(key, RawValue{.text = std::string(key.default_text)}, Origin{});
    }
}

void Draft::set(const Key& key, const RawValue& value, Origin origin) {
    if (const Result<void> stored = store(settings_, key, value); !stored) {
        problems_.add(
            fmt::format("{}: {}: {}", origin.describe(), key.name, stored.error().message));
        return;
    }
    origin_of(key) = std::move(origin);
}

Origin& Draft::origin_of(const Key& key) {
    return origins_.at(static_cast<std::size_t>(&key - all_keys().data()));
}

std::string Draft::describe(const Key& key) {
    return fmt::format("{} is {} ({})", key.name, text_of(settings_, key),
                       origin_of(key).describe());
}

}  // namespace belljar::config
