#include "runner/session_protocol.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

#include "base/utf8.h"
#include "runner/guest_protocol.h"

namespace belljar::runner {
namespace {

constexpr std::size_t kMostNotes = 16;
constexpr std::size_t kNoteLength = 500;
constexpr std::size_t kReasonLength = 300;

std::string line_of(const json::object& object) { return to_text(object) + "\n"; }

Result<json::object> read_object(std::string_view line) {
    BJ_TRY(json::value value, parse_json(line));
    if (!value.is_object()) {
        return fail(ErrorCode::InvalidArgument, "the guest's answer is no object");
    }
    return std::move(value.get_object());
}

bool is_true(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::optional<std::int64_t> number_in(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value != nullptr && value->is_int64() ? std::optional(value->get_int64()) : std::nullopt;
}

std::vector<std::string> notes_in(const json::object& object) {
    std::vector<std::string> notes;
    const json::value* value = object.if_contains("notes");
    if (value == nullptr || !value->is_array()) {
        return notes;
    }
    for (const json::value& note : value->get_array()) {
        if (note.is_string() && notes.size() < kMostNotes) {
            notes.push_back(
                make_valid_utf8(std::string_view(note.get_string()).substr(0, kNoteLength)));
        }
    }
    return notes;
}

struct Parts {
    std::size_t announced = 0;  // bytes behind the line
    std::string_view line;
    std::string_view rest;
};

// Nothing before there is a whole line.
std::optional<Parts> split(std::string_view text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    Parts parts{.line = text.substr(0, end), .rest = text.substr(end + 1)};
    const auto [after, error] =
        std::from_chars(parts.line.data(), parts.line.data() + end, parts.announced);
    if (error == std::errc()) {
        parts.line.remove_prefix(static_cast<std::size_t>(after - parts.line.data()));
    }
    return parts;
}

std::string_view name_of(execution::SessionAction action) {
    switch (action) {
        case execution::SessionAction::Undo:
            return "undo";
        case execution::SessionAction::Fork:
            return "fork";
        case execution::SessionAction::Diff:
            return "diff";
        case execution::SessionAction::Reset:
            return "reset";
        case execution::SessionAction::End:
            return "end";
    }
    return "";
}

}  // namespace

std::string encode_cell(const execution::RunRequest& request, const CellPlace& place) {
    Result<json::value> parsed = parse_json(encode_guest_request(request, place.mark));
    json::object cell = parsed && parsed->is_object() ? parsed->get_object() : json::object{};
    cell["session"] = true;  // by the first one, the guest learns that there will be others
    cell["checkpoints"] = place.checkpoints;
    cell["branch"] = place.branch;
    cell["cell"] = place.cell;
    cell["stdin"] = request.stdin_text;
    return line_of(cell);
}

std::string encode_stop() { return line_of({{"stop", true}}); }

std::string encode_session_order(const execution::SessionOrder& order, std::string_view branch,
                                 std::string_view fork) {
    return line_of(
        {{"do", name_of(order.action)}, {"branch", branch}, {"count", order.cells}, {"as", fork}});
}

std::optional<std::size_t> size_of_answer(std::string_view text) {
    const std::optional<Parts> parts = split(text);
    if (!parts) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(parts->rest.data() - text.data()) + parts->announced;
}

Result<CellAnswer> parse_cell_answer(std::string_view text, std::uint64_t cell) {
    const std::optional<Parts> parts = split(text);
    if (!parts || parts->rest.size() != parts->announced) {
        return fail(ErrorCode::InvalidArgument, "the guest's answer is not whole");
    }
    BJ_TRY(const json::object object, read_object(parts->line));
    const std::optional<std::int64_t> number = number_in(object, "cell");
    if (!number || *number < 0 || static_cast<std::uint64_t>(*number) != cell) {
        return fail(ErrorCode::InvalidArgument, "the guest answered another cell");
    }
    CellAnswer answer;
    if (!is_true(object, "done")) {
        constexpr std::int64_t kStatusMask = 0xFFFF;
        answer.wait_status = static_cast<int>(number_in(object, "died").value_or(0) & kStatusMask);
        answer.notes = notes_in(object);
        return answer;
    }
    answer.kept = true;
    // A guest without copies of its state reports by itself.
    answer.report = parts->announced > 0 ? parts->rest : parts->line;
    const Result<json::object> inner =
        read_object(std::string_view(answer.report).substr(0, answer.report.find('\n')));
    if (inner) {
        constexpr std::int64_t kCodeMask = 0xFF;
        answer.wait_status =
            static_cast<int>((number_in(*inner, "exit_code").value_or(0) & kCodeMask) << 8);
        answer.notes = notes_in(*inner);
    }
    return answer;
}

Result<json::object> parse_session_answer(std::string_view text) {
    const std::optional<Parts> parts = split(text);
    BJ_TRY(json::object object, read_object(parts ? parts->line : text));
    if (const json::value* refused = object.if_contains("refused");
        refused != nullptr && refused->is_string()) {
        return fail(
            ErrorCode::InvalidArgument,
            make_valid_utf8(std::string_view(refused->get_string()).substr(0, kReasonLength)));
    }
    if (!is_true(object, "done")) {
        return fail(ErrorCode::Unavailable, "the session could not do that");
    }
    return object;
}

}  // namespace belljar::runner
