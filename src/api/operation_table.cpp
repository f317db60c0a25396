#include "api/operation_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/percent.h"

namespace belljar::api {
namespace {

constexpr std::string_view kRestEnd = "...}";

bool is_variable(std::string_view segment) { return segment.starts_with('{'); }
bool is_rest(std::string_view segment) {
    return is_variable(segment) && segment.ends_with(kRestEnd);
}

std::string name_of_variable(std::string_view segment) {
    const std::size_t behind = is_rest(segment) ? kRestEnd.size() : 1;
    return std::string(segment.substr(1, segment.size() - 1 - behind));
}

// Of "/a//b" there are "a", "" and "b".
std::vector<std::string> split(std::string_view path) {
    std::vector<std::string> segments;
    if (path.starts_with('/')) {
        path.remove_prefix(1);
    }
    while (true) {
        const std::size_t slash = path.find('/');
        segments.emplace_back(path.substr(0, slash));
        if (slash == std::string_view::npos) {
            return segments;
        }
        path.remove_prefix(slash + 1);
    }
}

// Whether a request of these segments could mean this path.
bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& segments) {
    const bool open = is_rest(pattern.back());
    if (open ? segments.size() < pattern.size() : segments.size() != pattern.size()) {
        return false;
    }
    for (std::size_t index = 0; index < pattern.size(); ++index) {
        const bool given = is_variable(pattern[index]) ? !segments[index].empty() || open
                                                       : pattern[index] == segments[index];
        if (!given) {
            return false;
        }
    }
    return true;
}

Result<std::string> decode_rest(const std::vector<std::string>& segments, std::size_t first) {
    std::string rest;
    for (std::size_t index = first; index < segments.size(); ++index) {
        const std::optional<std::string> decoded = percent_decoded(segments[index]);
        if (!decoded || decoded->contains('/')) {
            return fail(ErrorCode::InvalidArgument,
                        "the path has a percent sign that encodes nothing, or an encoded slash");
        }
        rest += (index == first ? "" : "/") + *decoded;
    }
    return rest;
}

Result<void> read_variables(const std::vector<std::string>& pattern,
                            const std::vector<std::string>& segments,
                            OperationTable::Found& found) {
    for (std::size_t index = 0; index < pattern.size(); ++index) {
        if (is_rest(pattern[index])) {
            BJ_TRY(found.path_values[name_of_variable(pattern[index])],
                   decode_rest(segments, index));
        } else if (is_variable(pattern[index])) {
            std::optional<std::string> decoded = percent_decoded(segments[index]);
            if (!decoded) {
                return fail(ErrorCode::InvalidArgument,
                            "the path has a percent sign that encodes nothing");
            }
            found.path_values[name_of_variable(pattern[index])] = std::move(*decoded);
        }
    }
    return {};
}

// Where two paths differ first, a fixed segment goes before a variable and that before a rest.
bool is_more_exact(const std::vector<std::string>& left, const std::vector<std::string>& right) {
    const auto rank = [](const std::string& segment) {
        return is_rest(segment) ? 2 : is_variable(segment) ? 1 : 0;
    };
    return std::ranges::lexicographical_compare(left, right, {}, rank, rank);
}

}  // namespace

void OperationTable::add(Operation operation) {
    const auto& made = operations_.emplace_back(std::make_unique<Operation>(std::move(operation)));
    const bool known =
        std::ranges::count(operations_, made->id, [](const auto& one) { return one->id; }) > 1;
    std::vector<std::string> segments = split(made->path);
    Place* place = nullptr;
    if (std::ranges::none_of(segments, is_variable)) {
        place = &fixed_[made->path];
    } else {
        const auto same = std::ranges::find(variable_, segments, &Place::segments);
        place = same != variable_.end() ? &*same : &variable_.emplace_back(Place{segments});
    }
    place->segments = std::move(segments);
    if (known || !place->by_method.emplace(made->method, made.get()).second) {
        throw std::logic_error(
            fmt::format("two operations: {} {} {}", made->id, made->method, made->path));
    }
    std::ranges::sort(variable_, is_more_exact, &Place::segments);
}

void OperationTable::add_schema(std::string name, json::object schema) {
    const auto [place, fresh] = schemas_.emplace(name, schema);
    if (!fresh && place->second != schema) {
        throw std::logic_error("two schemas: " + name);
    }
}

OperationTable::Finding OperationTable::choose(const Place& place, std::string_view method,
                                               Found found) {
    const auto operation = place.by_method.find(std::string(method == "HEAD" ? "GET" : method));
    if (operation != place.by_method.end()) {
        found.operation = operation->second;
        return found;
    }
    std::vector<std::string> allowed;
    for (const auto& [name, unused] : place.by_method) {
        allowed.push_back(name);
        if (name == "GET") {
            allowed.emplace_back("HEAD");
        }
    }
    return WrongMethod{fmt::format("{}", fmt::join(allowed, ", "))};
}

OperationTable::Finding OperationTable::find(std::string_view method, std::string_view path) const {
    if (const auto place = fixed_.find(path); place != fixed_.end()) {
        return choose(place->second, method, {});
    }
    const std::vector<std::string> segments = split(path);
    const auto place = std::ranges::find_if(
        variable_, [&](const Place& one) { return fits(one.segments, segments); });
    if (place == variable_.end()) {
        return Nothing{};
    }
    Found found;
    if (const Result<void> read = read_variables(place->segments, segments, found); !read) {
        return BadPath{read.error().message};
    }
    return choose(*place, method, std::move(found));
}

}  // namespace belljar::api
