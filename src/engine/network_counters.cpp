#include "engine/network_counters.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>

namespace belljar::engine {
namespace {

using execution::NetworkAttempts;

constexpr std::size_t kLargestText = 64UL * 1024;
constexpr std::size_t kMostPlaces = 16;

std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    return word;
}

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

std::uint64_t number_of(std::string_view word) {
    std::uint64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    return number;
}

// By "Udp: OutDatagrams" and "Udp6OutDatagrams".
using Numbers = std::map<std::string, std::uint64_t>;

// "Udp: InDatagrams OutDatagrams" and, on the next line, "Udp: 0 3".
void read_pair(std::string_view names, std::string_view values, Numbers& numbers) {
    const std::string prefix(take_word(names));
    take_word(values);
    while (!names.empty() && !values.empty()) {
        const std::string_view name = take_word(names);
        numbers[prefix + " " + std::string(name)] = number_of(take_word(values));
    }
}

Numbers read_numbers(std::string_view text) {
    Numbers numbers;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        if (line.substr(0, line.find(' ')).ends_with(':')) {
            read_pair(line, take_line(text), numbers);
            continue;
        }
        const std::string_view name = take_word(line);
        numbers[std::string(name)] = number_of(take_word(line));
    }
    return numbers;
}

std::string read_text(const Fd& file) {
    std::string text;
    std::array<char, 16384> buffer{};
    while (text.size() < kLargestText) {
        const ssize_t count =
            ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
        if (count <= 0) {
            break;
        }
        text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
}

}  // namespace

NetworkAttempts parse_network_counters(std::string_view text) {
    Numbers numbers = read_numbers(text);
    return {.without_route = numbers["Ip: OutNoRoutes"] + numbers["Ip6OutNoRoutes"],
            .connections = numbers["Tcp: ActiveOpens"],
            .datagrams = numbers["Udp: OutDatagrams"] + numbers["UdpLite: OutDatagrams"] +
                         numbers["Udp6OutDatagrams"] + numbers["UdpLite6OutDatagrams"]};
}

NetworkAttempts NetworkCounters::read(const std::vector<execution::DeniedCall>& calls) {
    if (files_.empty()) {
        return {};
    }
    std::string text;
    for (const Fd& file : files_) {
        text += read_text(file);
    }
    const NetworkAttempts now = parse_network_counters(text);
    NetworkAttempts news{.without_route = now.without_route - before_.without_route,
                         .connections = now.connections - before_.connections,
                         .datagrams = now.datagrams - before_.datagrams};
    before_ = now;
    for (const execution::DeniedCall& call : calls) {
        const bool known = std::ranges::find(news.places, call.address) != news.places.end();
        if (!call.address.empty() && !known && news.places.size() < kMostPlaces) {
            news.places.push_back(call.address);
        }
    }
    return news;
}

}  // namespace belljar::engine
