#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace belljar::engine {

// Lets whoever asked for a run take the wish back: an HTTP client that hung up, a
// notifications/cancelled, a shutdown. Used on the I/O thread only.
class Cancellation {
   public:
    // Idempotent. Runs the handler at once if one is set.
    void request() {
        if (std::exchange(requested_, true)) {
            return;
        }
        if (auto handler = std::exchange(handler_, nullptr)) {
            handler();
        }
    }

    [[nodiscard]] bool requested() const { return requested_; }

    // What to do on request(), at once if that has happened already. Replaces an earlier handler;
    // nullptr removes it.
    void on_request(std::function<void()> handler) {
        handler_ = std::move(handler);
        if (requested_ && handler_) {
            std::exchange(handler_, nullptr)();
        }
    }

   private:
    bool requested_ = false;
    std::function<void()> handler_;
};

// Shared between the transport that fires it and the run that obeys it; either may end first.
using CancellationPtr = std::shared_ptr<Cancellation>;

}  // namespace belljar::engine
