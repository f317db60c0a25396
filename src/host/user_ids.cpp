#include "host/user_ids.h"

#include <optional>

#include "host/kernel_file.h"

namespace belljar::host {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    while (true) {
        const std::size_t end = line.find(':');
        fields.push_back(line.substr(0, end));
        if (end == std::string_view::npos) {
            return fields;
        }
        line.remove_prefix(end + 1);
    }
}

std::optional<std::uint64_t> id_of(std::string_view text) {
    const std::optional<std::int64_t> number = number_of(trimmed(text));
    return number && *number >= 0 ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

}  // namespace

bool IdRange::overlaps(const IdRange& other) const {
    return first < other.first + other.count && other.first < first + count;
}

bool IdRange::contains(const IdRange& other) const {
    return first <= other.first && other.first + other.count <= first + count;
}

std::vector<IdRange> parse_accounts(std::string_view passwd) {
    std::vector<IdRange> ranges;
    for (const std::string_view line : lines_of(passwd)) {
        const auto fields = fields_of(line);
        const auto id = fields.size() > 2 ? id_of(fields[2]) : std::nullopt;
        if (id) {
            ranges.push_back({.first = *id, .count = 1, .owner = std::string(fields[0])});
        }
    }
    return ranges;
}

std::vector<IdRange> parse_subordinate_ids(std::string_view subuid) {
    std::vector<IdRange> ranges;
    for (const std::string_view line : lines_of(subuid)) {
        const auto fields = fields_of(line);
        const auto first = fields.size() > 2 ? id_of(fields[1]) : std::nullopt;
        const auto count = fields.size() > 2 ? id_of(fields[2]) : std::nullopt;
        if (first && count) {
            ranges.push_back({.first = *first, .count = *count, .owner = std::string(fields[0])});
        }
    }
    return ranges;
}

std::vector<IdRange> parse_id_map(std::string_view map) {
    std::vector<IdRange> ranges;
    for (const std::string_view line : lines_of(map)) {
        const std::vector<std::string> words = words_of(line);
        const auto first = words.size() == 3 ? id_of(words[0]) : std::nullopt;
        const auto count = words.size() == 3 ? id_of(words[2]) : std::nullopt;
        if (first && count) {
            ranges.push_back({.first = *first, .count = *count, .owner = {}});
        }
    }
    return ranges;
}

UserIds read_user_ids() {
    UserIds ids{.taken = parse_accounts(read_text("/etc/passwd").value_or("")),
                .existing = parse_id_map(read_text("/proc/self/uid_map").value_or(""))};
    for (IdRange& range : parse_subordinate_ids(read_text("/etc/subuid").value_or(""))) {
        ids.taken.push_back(std::move(range));
    }
    return ids;
}

}  // namespace belljar::host
