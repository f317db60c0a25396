#include "mcp/changes.h"

#include <utility>
#include <vector>

namespace belljar::mcp {

Changes::Subscription::Subscription(Subscription&& other) noexcept
    : changes_(std::exchange(other.changes_, nullptr)), number_(other.number_) {}

Changes::Subscription& Changes::Subscription::operator=(Subscription&& other) noexcept {
    if (this != &other) {
        end();
        changes_ = std::exchange(other.changes_, nullptr);
        number_ = other.number_;
    }
    return *this;
}

void Changes::Subscription::end() {
    if (Changes* changes = std::exchange(changes_, nullptr)) {
        changes->listeners_.erase(number_);
    }
}

Changes::Subscription Changes::listen(Listener listener) {
    const std::uint64_t number = next_++;
    listeners_.emplace(number, std::move(listener));
    return {*this, number};
}

void Changes::tell(const Change& change) {
    // Whoever is told may end its subscription, or that of another.
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, listener] : listeners_) {
        numbers.push_back(number);
    }
    for (const std::uint64_t number : numbers) {
        if (const auto found = listeners_.find(number); found != listeners_.end()) {
            const Listener listener = found->second;
            listener(change);
        }
    }
}

}  // namespace belljar::mcp
