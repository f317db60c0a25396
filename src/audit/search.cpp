#include "audit/search.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "audit/line_reader.h"
#include "audit/trail_place.h"

namespace belljar::audit {
namespace {

// A file that retention removes while we read is one that was asked for too late.
bool has_gone(const Error& error) { return error.sys_errno == ENOENT; }

struct Column {
    std::string_view name;
    std::string_view part;  // "", "body" or "personal"
};

constexpr std::array<Column, 30> kColumns{{{"seq", ""},
                                           {"time", ""},
                                           {"kind", ""},
                                           {"principal", "personal"},
                                           {"client", "personal"},
                                           {"address", "personal"},
                                           {"execution_id", "body"},
                                           {"conversation_id", "personal"},
                                           {"session_id", "personal"},
                                           {"tool", "body"},
                                           {"protocol", "body"},
                                           {"language", "body"},
                                           {"status", "body"},
                                           {"exit_code", "body"},
                                           {"signal", "body"},
                                           {"code_sha256", "personal"},
                                           {"profile", "body"},
                                           {"policy_version", "body"},
                                           {"tools_digest", "body"},
                                           {"isolation", "body"},
                                           {"limits", "body"},
                                           {"usage", "body"},
                                           {"denials", "body"},
                                           {"findings", "body"},
                                           {"masked", "body"},
                                           {"network", "body"},
                                           {"files", "personal"},
                                           {"trace_id", "personal"},
                                           {"text", "personal"},
                                           {"hash", ""}}};

// A spreadsheet takes what begins so for a formula, whoever wrote it.
bool looks_like_formula(std::string_view text) {
    return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string::npos;
}

std::string csv_field(std::string_view text) {
    const std::string safe = (looks_like_formula(text) ? "'" : "") + std::string(text);
    if (safe.find_first_of("\",\r\n") == std::string::npos) {
        return safe;
    }
    std::string quoted = "\"";
    for (const char letter : safe) {
        quoted += letter;
        if (letter == '"') {
            quoted += '"';
        }
    }
    return quoted + '"';
}

std::string csv_value(const json::object& record, const Column& column) {
    const json::object* part = &record;
    if (!column.part.empty()) {
        const json::value* held = record.if_contains(column.part);
        part = held != nullptr ? held->if_object() : nullptr;
    }
    const json::value* value = part != nullptr ? part->if_contains(column.name) : nullptr;
    if (value == nullptr || value->is_null()) {
        return "";
    }
    if (value->is_number()) {
        return to_text(*value);
    }
    return csv_field(value->is_string() ? std::string(value->get_string()) : to_text(*value));
}

// The number of the first record in the file; 0 if it holds none.
std::uint64_t first_seq(const Fd& file) {
    LineReader reader(file, 0);
    const Result<LineReader::Line> line = reader.next();
    if (!line || line->state != LineReader::State::Whole) {
        return 0;
    }
    const Result<LineParts> parts = split_line(line->text);
    return parts ? parts->seq : 0;
}

// Adds what one file has to the page. True: the next one is to be looked at.
Result<bool> add_file(const Fd& file, const PageWish& wish, std::uint64_t& left, Page& page) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("look at a file of the audit trail"));
    }
    BackwardLineReader reader(file, static_cast<std::uint64_t>(status.st_size));
    std::string line;
    while (true) {
        BJ_TRY(const bool more, reader.next(line));
        if (!more) {
            return true;
        }
        const Result<LineParts> parts = split_line(line);
        if (!parts || (wish.before != 0 && parts->seq >= wish.before)) {
            continue;
        }
        if (matches(wish.filter, *parts)) {
            page.lines.push_back(line);
        }
        left -= std::min<std::uint64_t>(left, line.size());
        if ((page.lines.size() >= wish.limit || left == 0) && parts->seq > 1) {
            page.next = parts->seq;
            return false;
        }
    }
}

}  // namespace

Result<void> search_trail(const Fd& directory, const Filter& filter, const TakeRecord& take) {
    BJ_TRY(const std::vector<std::uint64_t> files, list_trail(directory));
    for (const std::uint64_t number : files) {
        const Result<Fd> file = open_trail(directory, number);
        if (!file && has_gone(file.error())) {
            continue;
        }
        if (!file) {
            return fail(file.error());
        }
        LineReader reader(*file, 0);
        while (true) {
            BJ_TRY(const LineReader::Line line, reader.next());
            if (line.state != LineReader::State::Whole) {
                break;
            }
            const Result<LineParts> parts = split_line(line.text);
            if (!parts || !matches(filter, *parts)) {
                continue;
            }
            BJ_TRY(const bool more, take(*parts, line.text));
            if (!more) {
                return {};
            }
        }
    }
    return {};
}

Result<Page> page_of_trail(const Fd& directory, const PageWish& wish) {
    BJ_TRY(std::vector<std::uint64_t> files, list_trail(directory));
    Page page;
    std::uint64_t left = wish.read.count;
    while (!files.empty()) {
        const Result<Fd> file = open_trail(directory, files.back());
        files.pop_back();
        if (!file && has_gone(file.error())) {
            break;
        }
        if (!file) {
            return fail(file.error());
        }
        if (wish.before != 0 && first_seq(*file) >= wish.before) {
            continue;
        }
        BJ_TRY(const bool more, add_file(*file, wish, left, page));
        if (!more) {
            break;
        }
    }
    return page;
}

std::string csv_header() {
    std::string line;
    for (const Column& column : kColumns) {
        line += fmt::format("{}{}", line.empty() ? "" : ",", column.name);
    }
    return line + "\r\n";
}

std::string to_csv(std::string_view line) {
    const Result<json::value> parsed = parse_json(line);
    const json::object empty;
    const json::object& record = parsed && parsed->is_object() ? parsed->get_object() : empty;
    std::string text;
    bool first = true;
    for (const Column& column : kColumns) {
        text += first ? "" : ",";
        text += csv_value(record, column);
        first = false;
    }
    return text + "\r\n";
}

}  // namespace belljar::audit
