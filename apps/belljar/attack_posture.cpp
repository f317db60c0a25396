#include "attack_posture.h"

#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <sstream>

#include "base/fd.h"

namespace belljar::apps {
namespace {

constexpr Bytes kStatusLimit = kibibytes(64);

bool holds(const execution::Isolation& isolation, std::string_view layer) {
    return std::ranges::find(isolation.missing, layer) == isolation.missing.end();
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

// Real, effective, saved and file-system id: one and the same, and neither root's nor ours.
std::string examine_ids(const std::string& status, const execution::Isolation& isolation) {
    for (const char* field : {"Uid", "Gid"}) {
        const std::vector<std::string> words = words_of(status_field(status, field));
        const std::set<std::string> different(words.begin(), words.end());
        if (different.size() != 1 || different.contains("0")) {
            return fmt::format("{} {}", field, fmt::join(words, " "));
        }
        if (holds(isolation, "unique_user") && different.contains(std::to_string(::getuid()))) {
            return fmt::format("{} is that of the server", field);
        }
    }
    const std::string groups = status_field(status, "Groups");
    return holds(isolation, "unique_user") && !groups.empty() ? "Groups " + groups : "";
}

std::string examine_thread(const std::string& status, const execution::Isolation& isolation) {
    if (std::string wrong = examine_ids(status, isolation); !wrong.empty()) {
        return wrong;
    }
    for (const char* field : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
        const std::string set = status_field(status, field);
        // Only who has a capability can empty the bounding set; no_new_privs makes it mute.
        if (!holds(isolation, "namespaces") && std::string_view(field) == "CapBnd") {
            continue;
        }
        if (holds(isolation, "no_capabilities") && set.find_first_not_of('0') != set.npos) {
            return fmt::format("{} {}", field, set);
        }
    }
    if (status_field(status, "NoNewPrivs") != "1") {
        return "NoNewPrivs is not set";
    }
    // Init is our own program and runs nothing of the guest's; its system calls need no filter.
    const bool is_init = status_field(status, "Name").starts_with("belljar-");
    if (!is_init && holds(isolation, "seccomp") && status_field(status, "Seccomp") != "2") {
        return "no system call filter";
    }
    if (holds(isolation, "namespaces") && words_of(status_field(status, "NSpid")).size() < 2) {
        return "in the host's pid namespace";
    }
    return "";
}

std::string examine_process(const ProcessEntry& process, const execution::Isolation& isolation) {
    const std::string tasks = fmt::format("/proc/{}/task", process.pid);
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(tasks.c_str()), ::closedir);
    if (!folder) {
        return "";  // it has just ended
    }
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string name = entry->d_name;
        if (name.starts_with('.')) {
            continue;
        }
        const Result<std::string> status =
            read_file(fmt::format("{}/{}/status", tasks, name), kStatusLimit);
        if (!status) {
            continue;
        }
        if (std::string wrong = examine_thread(*status, isolation); !wrong.empty()) {
            return fmt::format("{}, thread {}: {}", process.name, name, wrong);
        }
    }
    return "";
}

// Whatever is below a jar's init, and init itself. The warden may have others at work.
std::vector<ProcessEntry> inhabitants(const std::vector<ProcessEntry>& processes) {
    std::vector<ProcessEntry> found;
    for (const ProcessEntry& process : processes) {  // parents come before their children
        if (process.name == "belljar-jar" ||
            std::ranges::find(found, process.parent, &ProcessEntry::pid) != found.end()) {
            found.push_back(process);
        }
    }
    return found;
}

}  // namespace

std::string examine_posture(const std::vector<ProcessEntry>& processes,
                            const execution::Isolation& isolation) {
    const std::vector<ProcessEntry> jar = inhabitants(processes);
    if (jar.size() < 2) {
        return "init and guest cannot be seen from outside";
    }
    for (const ProcessEntry& process : jar) {
        if (std::string wrong = examine_process(process, isolation); !wrong.empty()) {
            return wrong;
        }
    }
    return "";
}

std::string find_guest_user(const std::vector<ProcessEntry>& processes) {
    const std::vector<ProcessEntry> jar = inhabitants(processes);
    if (jar.size() < 2) {
        return "";
    }
    const Result<std::string> status =
        read_file(fmt::format("/proc/{}/status", jar.back().pid), kStatusLimit);
    const std::vector<std::string> ids = words_of(status ? status_field(*status, "Uid") : "");
    return ids.empty() ? "" : ids.front();
}

}  // namespace belljar::apps
