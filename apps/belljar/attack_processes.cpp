#include "attack_processes.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>

#include "base/fd.h"

namespace belljar::apps {
namespace {

constexpr Bytes kProcessFileLimit = kibibytes(64);

std::optional<ProcessEntry> read_process(const std::string& number) {
    const Result<std::string> text =
        read_file(fmt::format("/proc/{}/stat", number), kProcessFileLimit);
    // The name is whatever the process likes; it ends with the last bracket.
    const std::size_t begin = text ? text->find('(') : std::string::npos;
    const std::size_t end = text ? text->rfind(')') : std::string::npos;
    if (begin == std::string::npos || end == std::string::npos || end < begin) {
        return std::nullopt;
    }
    ProcessEntry entry{.pid = static_cast<pid_t>(std::atoi(number.c_str())),
                       .name = text->substr(begin + 1, end - begin - 1)};
    std::istringstream fields(text->substr(end + 1));
    char state = '?';
    fields >> state >> entry.parent;
    constexpr int kBetweenParentAndStart = 17;
    std::string skipped;
    for (int field = 0; field < kBetweenParentAndStart; ++field) {
        fields >> skipped;
    }
    fields >> entry.start;
    const bool ended = state == 'Z' || state == 'X';
    return ended ? std::nullopt : std::optional(std::move(entry));
}

std::vector<ProcessEntry> list_processes() {
    std::vector<ProcessEntry> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
    if (!folder) {
        return found;
    }
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string name = entry->d_name;
        if (!std::ranges::all_of(name, [](unsigned char letter) { return std::isdigit(letter); })) {
            continue;
        }
        if (std::optional<ProcessEntry> process = read_process(name)) {
            found.push_back(std::move(*process));
        }
    }
    return found;
}

}  // namespace

std::vector<ProcessEntry> list_descendants() {
    const std::vector<ProcessEntry> all = list_processes();
    std::vector<ProcessEntry> found;
    std::vector<pid_t> ancestors{::getpid()};
    while (!ancestors.empty()) {
        const pid_t ancestor = ancestors.back();
        ancestors.pop_back();
        for (const ProcessEntry& process : all) {
            if (process.parent == ancestor) {
                found.push_back(process);
                ancestors.push_back(process.pid);
            }
        }
    }
    return found;
}

std::string status_field(const std::string& status, const std::string& name) {
    std::istringstream lines(status);
    std::string line;
    while (std::getline(lines, line)) {
        if (!line.starts_with(name + ":")) {
            continue;
        }
        const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
        const std::size_t end = line.find_last_not_of(" \t");
        return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
    }
    return "";
}

unsigned long long own_memory(const std::string& field) {
    const Result<std::string> status = read_file("/proc/self/status", kProcessFileLimit);
    constexpr unsigned long long kKibibyte = 1024;
    return status ? std::strtoull(status_field(*status, field).c_str(), nullptr, 10) * kKibibyte
                  : 0;
}

unsigned long long growth_since(unsigned long long before, unsigned long long now) {
    return now > before ? now - before : 0;
}

}  // namespace belljar::apps
