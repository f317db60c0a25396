#include "transport/forwarded.h"

#include <algorithm>
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

// All lines of a header as one list, split where no quotes are around.
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts{""};
    bool quoted = false;
    for (const char letter : text) {
        quoted = letter == '"' ? !quoted : quoted;
        if (letter == separator && !quoted) {
            parts.emplace_back();
        } else {
            parts.back() += letter;
        }
    }
    for (std::string& part : parts) {
        part = std::string(trim(part));
    }
    return parts;
}

std::optional<std::vector<std::string>> list_of(const HttpRequest& request, std::string_view name) {
    const auto [begin, end] = request.headers.equal_range(name);
    if (begin == end) {
        return std::nullopt;
    }
    std::string joined;
    for (auto field = begin; field != end; ++field) {
        joined += (field == begin ? "" : ",") + field->second;
    }
    return split(joined, ',');
}

// The address of "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:80" or "2001:db8::1"; empty for
// "unknown" and other names.
std::string address_of(std::string_view node) {
    if (node.starts_with('[')) {
        node = node.substr(1, std::min(node.find(']'), node.size()) - 1);
    } else if (std::ranges::count(node, ':') == 1) {
        node = node.substr(0, node.find(':'));
    }
    return config::parse_address(node) ? std::string(node) : "";
}

std::optional<Hop> parse_hop(const std::string& element) {
    Hop hop;
    for (const std::string& pair : split(element, ';')) {
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
Result<std::vector<Hop>> standard_hops(const std::vector<std::string>& elements) {
    std::vector<Hop> hops;
    for (const std::string& element : elements) {
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

std::vector<Hop> common_hops(const HttpRequest& request, const std::vector<std::string>& from) {
    const auto schemes = list_of(request, "X-Forwarded-Proto").value_or(std::vector<std::string>{});
    const auto hosts = list_of(request, "X-Forwarded-Host").value_or(std::vector<std::string>{});
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
    const auto standard = list_of(request, "Forwarded");
    const auto common = list_of(request, "X-Forwarded-For");
    if (standard && common) {
        return fail(ErrorCode::InvalidArgument,
                    "both Forwarded and X-Forwarded-For are there; the proxy must remove the one "
                    "that it does not write");
    }
    if ((standard ? standard->size() : common ? common->size() : 0) > kMostHops) {
        return unreadable(standard ? "Forwarded" : "X-Forwarded-For");
    }
    std::vector<Hop> hops;
    if (standard) {
        BJ_TRY(hops, standard_hops(*standard));
    } else {
        hops = common_hops(request, common.value_or(std::vector<std::string>{""}));
    }
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
