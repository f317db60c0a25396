#include "jar/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/fd.h"

namespace belljar::jar {
namespace {

// Fields of /proc/PID/stat, counted from the state, which follows the program's name.
constexpr std::size_t kFlags = 6;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kStartOfCode = 23;
constexpr std::size_t kExitCode = 49;
constexpr std::size_t kFields = 50;
constexpr unsigned long kExiting = 0x4;  // PF_EXITING

ProcessState::Sight sight_of(unsigned long start_of_code) {
    if (start_of_code == 0) {
        return ProcessState::Sight::NoMemory;
    }
    // The kernel says 1 to those who may not know.
    return start_of_code == 1 ? ProcessState::Sight::Denied : ProcessState::Sight::Clear;
}

}  // namespace

Result<ProcessState> read_process_state(pid_t process) {
    const std::string path = "/proc/" + std::to_string(process) + "/stat";
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 1024> text{};
    const ssize_t length = ::read(file.get(), text.data(), text.size() - 1);
    if (length <= 0) {
        return fail(system_error("read " + path));
    }
    // The name is the program's own choice and may hold anything, but no field after it does.
    const std::string_view line(text.data(), static_cast<std::size_t>(length));
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string_view::npos || name_end + 3 >= line.size()) {
        return fail(system_error(path, EPROTO));
    }
    std::array<unsigned long, kFields> fields{};
    const char* place = text.data() + name_end + 3;  // behind the state, which is no number
    for (std::size_t index = 1; index < kFields; ++index) {
        char* end = nullptr;
        fields.at(index) = std::strtoul(place, &end, 10);
        if (end == place) {
            return fail(system_error(path, EPROTO));
        }
        place = end;
    }
    return ProcessState{.sight = sight_of(fields[kStartOfCode]),
                        .ending = (fields[kFlags] & kExiting) != 0,
                        .threads = static_cast<unsigned>(fields[kThreads]),
                        .wait_status = static_cast<int>(fields[kExitCode])};
}

std::uint64_t cpu_nanoseconds(const rusage& usage) {
    const auto nanoseconds = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_usec) * 1000U;
    };
    return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

std::uint64_t largest_bytes(const rusage& one, const rusage& other) {
    return static_cast<std::uint64_t>(std::max(one.ru_maxrss, other.ru_maxrss)) * 1024U;
}

}  // namespace belljar::jar
