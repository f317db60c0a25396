// The first half of what is privileged in Belljar. Started by the server with their socket as
// descriptor 3, the wanted launch mode and the log level as arguments. See src/keeper.

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "isolation/warden.h"
#include "keeper/keeper.h"

namespace {

std::string folder_of_programs() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string self(path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return self.substr(0, self.rfind('/') + 1);
}

}  // namespace

int main(int argument_count, char** arguments) {
    belljar::keeper::Options options{.folder = folder_of_programs()};
    if (argument_count == 3) {
        options.mode = arguments[1];
        options.log_level = arguments[2];
    }
    const belljar::Log log(
        "keeper", belljar::parse_log_level(options.log_level).value_or(belljar::LogLevel::Info));
    if (argument_count == 2 && std::string_view(arguments[1]) == "clean") {
        return belljar::keeper::clean_up(log);
    }
    // The terminal's Ctrl-C and a service manager's SIGTERM are for the server, which then closes
    // the socket.
    ::setsid();
    ::signal(SIGTERM, SIG_IGN);
    ::syscall(SYS_close_range, belljar::isolation::kServerSocket + 1, ~0U, 0);
    return belljar::keeper::keep(belljar::Fd(belljar::isolation::kServerSocket), options, log);
}
