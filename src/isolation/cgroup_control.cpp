#include "isolation/cgroup_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

namespace belljar::isolation {
namespace {

constexpr Bytes kFileLimit = mebibytes(1);

}  // namespace

Result<Fd> open_cgroup(const std::string& path) {
    Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!directory.valid()) {
        return fail(system_error("open cgroup directory"));
    }
    return directory;
}

Result<Fd> make_cgroup(const std::string& path) {
    if (::mkdir(path.c_str(), 0755) != 0) {
        return fail(system_error("mkdir cgroup"));
    }
    return open_cgroup(path);
}

Result<Fd> lock_cgroup(const std::string& path) {
    BJ_TRY(Fd directory, open_cgroup(path));
    if (::flock(directory.get(), LOCK_EX) != 0) {
        return fail(system_error("flock cgroup"));
    }
    return directory;
}

Result<void> write_control(const Fd& directory, const char* name, std::string_view value) {
    const Fd file(::openat(directory.get(), name, O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error(fmt::format("open {}", name)));
    }
    if (::write(file.get(), value.data(), value.size()) < 0) {
        return fail(system_error(fmt::format("write {}", name)));
    }
    return {};
}

std::string read_control(const Fd& directory, const char* name) {
    const Fd file(::openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
    return file.valid() ? read_all(file, kFileLimit).value_or("") : std::string();
}

std::uint64_t read_number(const Fd& directory, const char* name) {
    const std::string text = read_control(directory, name);
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::uint64_t read_keyed(const Fd& directory, const char* name, std::string_view key) {
    const std::string text = "\n" + read_control(directory, name);
    const std::string needle = fmt::format("\n{} ", key);
    const std::size_t found = text.find(needle);
    std::uint64_t number = 0;
    if (found != std::string::npos) {
        const char* begin = text.data() + found + needle.size();
        std::from_chars(begin, text.data() + text.size(), number);
    }
    return number;
}

std::vector<pid_t> read_processes(const Fd& directory) {
    const std::string text = read_control(directory, "cgroup.procs");
    std::vector<pid_t> processes;
    const char* position = text.data();
    const char* end = position + text.size();
    while (position < end) {
        pid_t process = 0;
        const auto [next, error] = std::from_chars(position, end, process);
        if (error != std::errc{}) {
            break;
        }
        processes.push_back(process);
        position = next + 1;
    }
    return processes;
}

bool has_control(const Fd& directory, const char* name) {
    return ::faccessat(directory.get(), name, F_OK, 0) == 0;
}

}  // namespace belljar::isolation
