#include "transport/forwarded.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/gate.h"
#include "base/ascii.h"

namespace belljar::transport {
namespace {

using access::HttpRequest;

constexpr std::size_t kMostHops = 32;

// What one proxy says of whoever asked it.
struct Hop {
    std::string from{};  // an address, or empty if it is none
    std::string scheme{};
    std::string host{};
};

std::unexpected<Error> unreadable(std::string_view header) {
    return fail(
        ErrorCode::InvalidArgument,
        std::string(header) + " cannot be read; a proxy must write it as its standard says");
}

// Of X-Forwarded-For and its like, which have no quotes: one that a client writes hides no comma.
std::vector<std::string> split_list(std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t end = 0; end != std::string_view::npos;) {
        end = text.find(',');
        parts.emplace_back(trim(text.substr(0, end)));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return parts;
}

// Of Forwarded, where a separator in quotes is none. Nothing if a quote does not end.
std::optional<std::vector<std::string>> split_quoted(std::string_view text, char separator) {
    std::vector<std::string> parts{""};
    bool quoted = false;
    bool escaped = false;
    for (const char letter : text) {
        if (letter == separator && !quoted) {
            parts.emplace_back();
            continue;
        }
        parts.back() += letter;
        quoted = letter == '"' && !escaped ? !quoted : quoted;
        escaped = letter == '\\' && quoted && !escaped;
    }
    if (quoted) {
        return std::nullopt;
    }
    for (std::string& part : parts) {
        part = std::string(trim(part));
    }
    return parts;
}

// All lines of a header as one.
std::optional<std::string> text_of(const HttpRequest& request, std::string_view name) {
    const auto [begin, end] = request.headers.equal_range(name);
    if (begin == end) {
        return std::nullopt;
    }
    std::string joined;
    for (auto field = begin; field != end; ++field) {
        joined += (field == begin ? "" : ",") + field->second;
    }
    return joined;
}

// A number, or a name that stands for one.
bool is_port(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '.' || letter == '_' || letter == '-';
    });
}

// The address of "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:80" or "2001:db8::1"; empty for
// "unknown", other names and whatever has more to it.
std::string address_of(std::string_view node) {
    std::string_view address = node;
    std::string_view rest;
    if (node.starts_with('[')) {
        const std::size_t end = node.find(']');
        if (end == std::string_view::npos) {
            return "";
        }
        address = node.substr(1, end - 1);
        rest = node.substr(end + 1);
    } else if (std::ranges::count(node, ':') == 1) {
        address = node.substr(0, node.find(':'));
        rest = node.substr(address.size());
    }
    const bool whole = rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1)));
    return whole && config::parse_address(address) ? std::string(address) : "";
}

std::optional<Hop> parse_hop(const std::string& element) {
    const auto pairs = split_quoted(element, ';');
    if (!pairs) {
        return std::nullopt;
    }
    Hop hop;
    for (const std::string& pair : *pairs) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos) {
            return std::nullopt;
        }
        const std::string name = to_lower(trim(pair.substr(0, equals)));
        std::string value(trim(pair.substr(equals + 1)));
        if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) {
            value = value.substr(1, value.size() - 2);
        }
        if (name == "for") {
            hop.from = address_of(value);
        } else if (name == "proto") {
            hop.scheme = to_lower(value);
        } else if (name == "host") {
            hop.host = value;
        }
    }
    return hop;
}

// In the order of the headers: the last was written by the peer.
Result<std::vector<Hop>> standard_hops(std::string_view text) {
    const auto elements = split_quoted(text, ',');
    if (!elements || elements->size() > kMostHops) {
        return unreadable("Forwarded");
    }
    std::vector<Hop> hops;
    for (const std::string& element : *elements) {
        const std::optional<Hop> hop = parse_hop(element);
        if (!hop) {
            return unreadable("Forwarded");
        }
        hops.push_back(*hop);
    }
    return hops;
}

// The lists need not be equally long: proxies that add to one replace another.
std::string from_the_end(const std::vector<std::string>& list, std::size_t distance) {
    return list.empty() ? "" : list[list.size() - 1 - std::min(distance, list.size() - 1)];
}

std::vector<std::string> list_of(const HttpRequest& request, std::string_view name) {
    const std::optional<std::string> text = text_of(request, name);
    return text ? split_list(*text) : std::vector<std::string>{};
}

Result<std::vector<Hop>> common_hops(const HttpRequest& request, std::string_view text) {
    const std::vector<std::string> from = split_list(text);
    if (from.size() > kMostHops) {
        return unreadable("X-Forwarded-For");
    }
    const std::vector<std::string> schemes = list_of(request, "X-Forwarded-Proto");
    const std::vector<std::string> hosts = list_of(request, "X-Forwarded-Host");
    std::vector<Hop> hops;
    for (std::size_t index = 0; index < from.size(); ++index) {
        const std::size_t distance = from.size() - 1 - index;
        hops.push_back({.from = address_of(from[index]),
                        .scheme = to_lower(from_the_end(schemes, distance)),
                        .host = from_the_end(hosts, distance)});
    }
    return hops;
}

// The hop of the client: the last that is no trusted proxy, or the first of all.
const Hop& client_of(const std::vector<Hop>& hops, std::span<const config::AddressRange> trusted) {
    const auto found = std::find_if(hops.rbegin(), hops.rend(), [trusted](const Hop& hop) {
        return !config::contains(trusted, hop.from);
    });
    return found == hops.rend() ? hops.front() : *found;
}

}  // namespace

Result<void> apply_forwarded(HttpRequest& request, std::span<const config::AddressRange> trusted) {
    if (!config::contains(trusted, request.client)) {
        return {};
    }
    const std::optional<std::string> standard = text_of(request, "Forwarded");
    const std::optional<std::string> common = text_of(request, "X-Forwarded-For");
    if (standard && common) {
        return fail(ErrorCode::InvalidArgument,
                    "both Forwarded and X-Forwarded-For are there; the proxy must remove the one "
                    "that it does not write");
    }
    BJ_TRY(const std::vector<Hop> hops,
           standard ? standard_hops(*standard) : common_hops(request, common.value_or("")));
    const Hop& client = client_of(hops, trusted);
    if (!client.from.empty()) {
        request.client = client.from;
    }
    if (client.scheme == "http" || client.scheme == "https") {
        request.scheme = client.scheme;
    }
    if (!client.host.empty()) {
        request.headers.erase("Host");
        request.headers.emplace("Host", client.host);
    }
    return {};
}

}  // namespace belljar::transport
