#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace belljar::apps {

// A process as /proc shows it. Pid and start time together never come again.
struct ProcessEntry {
    pid_t pid = 0;
    pid_t parent = 0;
    unsigned long long start = 0;
    std::string name{};

    bool operator==(const ProcessEntry& other) const {
        return pid == other.pid && start == other.start;
    }
};

// Every living process below this one: the warden, the keeper, and whatever runs in jars.
[[nodiscard]] std::vector<ProcessEntry> list_descendants();

// A field of /proc/self/status in bytes, such as "VmHWM"; 0 if it cannot be read.
[[nodiscard]] unsigned long long own_memory(const std::string& field);

// The kernel adds up such counters now and then: a later look may tell of less, even of a peak.
[[nodiscard]] unsigned long long growth_since(unsigned long long before, unsigned long long now);

// The value of "name:" in the text of a status file of /proc, without white space around it.
[[nodiscard]] std::string status_field(const std::string& status, const std::string& name);

}  // namespace belljar::apps
