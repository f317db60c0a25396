#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/task.h"
#include "storage/state_database.h"

namespace belljar::engine {

// The way from the I/O thread to the thread of the state database and back.
class DatabaseCalls {
   public:
    using Durability = storage::StateDatabase::Durability;
    template <typename Value>
    using Work = std::function<Result<Value>(storage::SqliteDatabase&)>;

    // The database outlives this, and is stopped before the executor's context is destroyed.
    DatabaseCalls(asio::any_io_executor executor, storage::StateDatabase& database)
        : executor_(std::move(executor)), database_(database) {}

    // Leaves something to be written. What finds no room is lost; the database says so in the log.
    void note(Work<void> work, std::size_t size = 0) {
        note({.work = std::move(work), .size = size});
    }
    void note(storage::StateDatabase::Job job) {
        [[maybe_unused]] const bool left = database_.submit(std::move(job));
    }

    // The result, once what was written for it is there. Overloaded if there is no room, and
    // Unavailable if it takes too long. `size` is what the work holds in memory, roughly.
    template <typename Value>
    Task<Result<Value>> ask(Durability durability, Work<Value> work, std::size_t size = 0) {
        const auto call = std::make_shared<Call<Value>>(executor_);
        call->awaited.expires_after(kPatience);
        const bool left = database_.submit(
            {.durability = durability,
             .work = [call,
                      work = std::move(work)](storage::SqliteDatabase& database) -> Result<void> {
                 call->made = work(database);
                 return *call->made ? Result<void>{} : fail(call->made->error());
             },
             .done =
                 [call, executor = executor_](Result<void> written) {
                     asio::post(executor, [call, written = std::move(written)]() mutable {
                         call->written = std::move(written);
                         call->awaited.cancel();
                     });
                 },
             .size = size});
        if (!left) {
            co_return fail(ErrorCode::Overloaded, "too much is waiting to be written; try again");
        }
        boost::system::error_code ignored;
        co_await call->awaited.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        if (!call->written) {
            co_return fail(ErrorCode::Unavailable, "the state database does not answer");
        }
        BJ_CO_TRY_VOID(*call->written);
        co_return std::move(*call->made);
    }

    [[nodiscard]] const asio::any_io_executor& executor() const { return executor_; }

   private:
    static constexpr Duration kPatience = std::chrono::seconds(30);

    template <typename Value>
    struct Call {
        explicit Call(const asio::any_io_executor& executor) : awaited(executor) {}

        asio::steady_timer awaited;             // I/O thread
        std::optional<Result<void>> written{};  // I/O thread
        std::optional<Result<Value>> made{};    // the database's, and then the I/O thread
    };

    asio::any_io_executor executor_;
    storage::StateDatabase& database_;
};

}  // namespace belljar::engine
