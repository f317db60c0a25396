#include "engine/first_reading.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"
#include "engine/scan_words.h"
#include "policy/reading.h"

namespace belljar::engine {
namespace {

using execution::Finding;
using execution::ScanAction;

constexpr std::size_t kLongestLine = mebibytes(1).count;

// What the guest wrote, if its bootstrap did: nobody else knows the mark.
Result<json::object> parse_line(std::string_view line, std::string_view mark) {
    if (line.size() > kLongestLine) {
        return fail(ErrorCode::InvalidArgument, "too long");
    }
    BJ_TRY(json::value value, parse_json(line));
    const json::object* object = value.if_object();
    const json::value* told = object != nullptr ? object->if_contains("mark") : nullptr;
    if (told == nullptr || *told != json::value(mark)) {
        return fail(ErrorCode::InvalidArgument, "not the bootstrap's");
    }
    return std::move(value.get_object());
}

}  // namespace

FirstReading::FirstReading(std::shared_ptr<const policy::Rulebook> rules,
                           const policy::Profile& profile, bool approved)
    : rules_(std::move(rules)), profile_(profile), approved_(approved) {}

std::shared_ptr<const execution::ReadingOrder> FirstReading::order() const {
    return std::make_shared<const execution::ReadingOrder>(
        policy::reading_order(profile_, approved_));
}

bool FirstReading::take(std::string_view line, std::string_view mark) {
    const Result<json::object> told = parse_line(line, mark);
    came_ = told.has_value();
    findings_.clear();
    if (!told) {
        return false;
    }
    findings_ = policy::judge(profile_, policy::parse_reading(*told));
    const json::value* runs = told->if_contains("runs");
    runs_ = runs != nullptr && *runs == json::value(true);
    const bool passes = runs_ && gravest() == ScanAction::Note;
    if (passes) {
        pass();
    }
    return passes;
}

const std::vector<Finding>& FirstReading::close() {
    if (!came_) {
        findings_ = policy::judge(profile_, policy::unreadable("its guest ended before"));
    }
    if (gravest() == ScanAction::Note) {
        pass();
    }
    return findings_;
}

Result<void> FirstReading::verdict(const execution::RunPlan& plan) const {
    if (gravest() == ScanAction::Refuse) {
        return fail(scan_refusal(plan, findings_));
    }
    if (gravest() == ScanAction::Ask) {
        return fail(scan_question(plan, findings_));
    }
    if (came_ && !runs_) {
        return fail(ErrorCode::Internal, "a program did not run that policy has nothing against");
    }
    return {};
}

ScanAction FirstReading::gravest() const {
    const auto stops = [](ScanAction action) {
        return [action](const Finding& finding) { return finding.action == action; };
    };
    if (std::ranges::any_of(findings_, stops(ScanAction::Refuse))) {
        return ScanAction::Refuse;
    }
    const bool asks = !approved_ && std::ranges::any_of(findings_, stops(ScanAction::Ask));
    return asks ? ScanAction::Ask : ScanAction::Note;
}

void FirstReading::pass() {
    if (on_pass_) {
        std::exchange(on_pass_, nullptr)();
    }
}

}  // namespace belljar::engine
