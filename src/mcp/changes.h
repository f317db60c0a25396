#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace belljar::mcp {

// Something that clients may want to hear of without having asked again.
struct Change {
    enum class Kind { Tools, Prompts, Resources, Resource, Task };

    Kind kind = Kind::Tools;
    std::string name{};                      // the URI of a resource, the id of a task
    std::optional<std::string> principal{};  // whose it is; nothing: everybody's

    [[nodiscard]] bool concerns(const std::string& caller) const {
        return !principal || *principal == caller;
    }
};

// Where changes are made known. Used on the I/O thread only; outlives its subscriptions.
class Changes {
   public:
    using Listener = std::function<void(const Change&)>;

    // Listens as long as it lives.
    class [[nodiscard]] Subscription {
       public:
        Subscription() = default;
        Subscription(Subscription&& other) noexcept;
        Subscription& operator=(Subscription&& other) noexcept;
        Subscription(const Subscription&) = delete;
        Subscription& operator=(const Subscription&) = delete;
        ~Subscription() { end(); }

       private:
        friend class Changes;
        Subscription(Changes& changes, std::uint64_t number)
            : changes_(&changes), number_(number) {}
        void end();

        Changes* changes_ = nullptr;
        std::uint64_t number_ = 0;
    };

    Changes() = default;
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;

    Subscription listen(Listener listener);
    void tell(const Change& change);

   private:
    std::map<std::uint64_t, Listener> listeners_;
    std::uint64_t next_ = 1;
};

}  // namespace belljar::mcp
