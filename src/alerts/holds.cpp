#include "alerts/holds.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"
#include "base/utf8.h"

namespace belljar::alerts {
namespace {

std::int64_t seconds_of(WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

WallTime time_of(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

// Of one entry of the text that was kept.
class Entry {
   public:
    explicit Entry(const json::value& value) : object_(value.if_object()) {}

    [[nodiscard]] std::string text(std::string_view name) {
        const json::value* value = member(name);
        good_ = good_ && value != nullptr && value->is_string();
        return good_ ? std::string(value->get_string()) : std::string();
    }
    [[nodiscard]] WallTime time(std::string_view name) {
        constexpr std::int64_t kLatest = 8'000'000'000;
        const json::value* value = member(name);
        good_ = good_ && value != nullptr && value->is_int64() && value->get_int64() >= 0 &&
                value->get_int64() <= kLatest;
        return good_ ? time_of(value->get_int64()) : WallTime{};
    }
    [[nodiscard]] bool good() const { return good_; }

   private:
    [[nodiscard]] const json::value* member(std::string_view name) const {
        return object_ == nullptr ? nullptr : object_->if_contains(name);
    }

    const json::object* object_;
    bool good_ = true;
};

const json::array& list_of(const json::object& object, std::string_view name) {
    static const json::array kNothing;
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_array() ? value->get_array() : kNothing;
}

}  // namespace

void Holds::block(Block block) {
    const auto found = blocks_.find(block.principal);
    if (found != blocks_.end() && found->second.until >= block.until) {
        return;
    }
    if (found == blocks_.end() && blocks_.size() >= kMost) {
        blocks_.erase(std::ranges::min_element(
            blocks_, {}, [](const auto& entry) { return entry.second.until; }));
    }
    blocks_[block.principal] = std::move(block);
}

Result<void> Holds::quarantine(Quarantine quarantine) {
    const std::pair key(quarantine.principal, quarantine.conversation_id);
    if (!quarantines_.contains(key) && quarantines_.size() >= kMost) {
        return fail(ErrorCode::Overloaded, "as many conversations are quarantined as may be");
    }
    quarantines_.emplace(key, std::move(quarantine));
    return {};
}

Result<void> Holds::lift_block(const std::string& principal, WallTime now) {
    const auto found = blocks_.find(principal);
    const bool in_force = found != blocks_.end() && found->second.until > now;
    if (found != blocks_.end()) {
        blocks_.erase(found);
    }
    return in_force ? Result<void>{} : fail(ErrorCode::NotFound, "this principal is not blocked");
}

Result<void> Holds::lift_quarantine(const std::string& principal,
                                    const std::string& conversation_id) {
    if (quarantines_.erase({principal, conversation_id}) == 0) {
        return fail(ErrorCode::NotFound, "this conversation is not quarantined");
    }
    return {};
}

std::optional<Block> Holds::block_of(const std::string& principal, WallTime now) const {
    if (blocks_.empty()) {
        return std::nullopt;
    }
    const auto found = blocks_.find(principal);
    return found != blocks_.end() && found->second.until > now ? std::optional(found->second)
                                                               : std::nullopt;
}

bool Holds::is_quarantined(const std::string& principal, const std::string& conversation_id) const {
    return !quarantines_.empty() && quarantines_.contains({principal, conversation_id});
}

std::vector<Block> Holds::blocks(WallTime now) const {
    std::vector<Block> found;
    for (const auto& [principal, block] : blocks_) {
        if (block.until > now) {
            found.push_back(block);
        }
    }
    return found;
}

std::vector<Quarantine> Holds::quarantines() const {
    std::vector<Quarantine> found;
    for (const auto& [key, quarantine] : quarantines_) {
        found.push_back(quarantine);
    }
    return found;
}

std::string Holds::to_text(WallTime now) const {
    json::array blocks_json;
    for (const Block& block : blocks(now)) {
        blocks_json.push_back(json::object{{"principal", make_valid_utf8(block.principal)},
                                           {"since", seconds_of(block.since)},
                                           {"until", seconds_of(block.until)},
                                           {"reason", make_valid_utf8(block.reason)}});
    }
    json::array quarantines_json;
    for (const auto& [key, one] : quarantines_) {
        quarantines_json.push_back(
            json::object{{"principal", make_valid_utf8(one.principal)},
                         {"conversation_id", make_valid_utf8(one.conversation_id)},
                         {"since", seconds_of(one.since)},
                         {"reason", make_valid_utf8(one.reason)}});
    }
    return belljar::to_text(json::object{{"grade", grade},
                                         {"blocks", std::move(blocks_json)},
                                         {"quarantines", std::move(quarantines_json)}});
}

Result<Holds> Holds::parse(std::string_view text) {
    BJ_TRY(const json::value value, parse_json(text));
    const json::object* object = value.if_object();
    if (object == nullptr) {
        return fail(ErrorCode::InvalidArgument, "what was kept of blocks is no object");
    }
    Holds holds;
    if (const json::value* grade = object->if_contains("grade"); grade && grade->is_string()) {
        holds.grade = std::string(grade->get_string());
    }
    for (const json::value& item : list_of(*object, "blocks")) {
        Entry entry(item);
        Block block{.principal = entry.text("principal"),
                    .since = entry.time("since"),
                    .until = entry.time("until"),
                    .reason = entry.text("reason")};
        if (!entry.good()) {
            return fail(ErrorCode::InvalidArgument, "what was kept of a block is damaged");
        }
        holds.block(std::move(block));
    }
    for (const json::value& item : list_of(*object, "quarantines")) {
        Entry entry(item);
        Quarantine one{.principal = entry.text("principal"),
                       .conversation_id = entry.text("conversation_id"),
                       .since = entry.time("since"),
                       .reason = entry.text("reason")};
        if (!entry.good()) {
            return fail(ErrorCode::InvalidArgument, "what was kept of a quarantine is damaged");
        }
        BJ_TRY_VOID(holds.quarantine(std::move(one)));
    }
    return holds;
}

}  // namespace belljar::alerts
