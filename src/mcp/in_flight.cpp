#include "mcp/in_flight.h"

#include <fmt/format.h>

#include "execution/error_wire.h"

namespace belljar::mcp {
namespace {

constexpr std::size_t kMostInFlight = 256;

}  // namespace

InFlight::Entry::~Entry() { table_->erase(key_); }

RpcResult<InFlight::EntryPtr> InFlight::begin(const json::value& id) {
    std::string key = to_text(id);
    if (table_->contains(key)) {
        return rpc_fail(RpcCode::InvalidRequest,
                        "A request with this id is still being answered; give every request an id "
                        "of its own.");
    }
    if (table_->size() >= kMostInFlight) {
        return rpc_fail(
            static_cast<RpcCode>(execution::json_rpc_code(ErrorCode::Overloaded)),
            fmt::format("{} requests are being answered already; wait for some of them.",
                        kMostInFlight));
    }
    auto cancellation = std::make_shared<engine::Cancellation>();
    table_->emplace(key, cancellation);
    return EntryPtr(new Entry(table_, std::move(key), std::move(cancellation)));
}

void InFlight::cancel(const json::value& id) {
    const auto entry = table_->find(to_text(id));
    if (entry != table_->end()) {
        // Held here, because the request may end within the call and drop its own reference.
        const engine::CancellationPtr cancellation = entry->second;
        cancellation->request();
    }
}

void InFlight::cancel_all() {
    // A cancelled run may end within the call and leave the table, so walk over a copy.
    const Entry::Table table = *table_;
    for (const auto& [key, cancellation] : table) {
        cancellation->request();
    }
}

}  // namespace belljar::mcp
