#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/cancellation.h"
#include "mcp/json_rpc.h"

namespace belljar::mcp {

// The requests of one connection or session that are being answered, by id: what
// notifications/cancelled refers to. Used on the I/O thread only.
class InFlight {
   public:
    // One of them; it is over when this is destroyed. May outlive the table.
    class Entry {
       public:
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        ~Entry();
        [[nodiscard]] const engine::CancellationPtr& cancellation() const { return cancellation_; }

       private:
        friend class InFlight;
        using Table = std::map<std::string, engine::CancellationPtr, std::less<>>;
        Entry(std::shared_ptr<Table> table, std::string key, engine::CancellationPtr cancellation)
            : table_(std::move(table)),
              key_(std::move(key)),
              cancellation_(std::move(cancellation)) {}

        std::shared_ptr<Table> table_;
        std::string key_;
        engine::CancellationPtr cancellation_;
    };
    using EntryPtr = std::shared_ptr<Entry>;

    // An error if the id is in use, or if there are too many.
    [[nodiscard]] RpcResult<EntryPtr> begin(const json::value& id);
    // Does nothing if there is no such request any more.
    void cancel(const json::value& id);
    void cancel_all();
    [[nodiscard]] bool empty() const { return table_->empty(); }

   private:
    // By the JSON text of the id, which keeps 1 and "1" apart.
    std::shared_ptr<Entry::Table> table_ = std::make_shared<Entry::Table>();
};

}  // namespace belljar::mcp
