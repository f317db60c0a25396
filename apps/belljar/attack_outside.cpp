#include "attack_outside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/id.h"
#include "engine/warden_process.h"

namespace belljar::apps {
namespace {

constexpr std::size_t kSecretBytes = 16;
constexpr Bytes kLargestSharedFile = mebibytes(256);
constexpr std::size_t kAccountsTold = 20;

Result<std::string> make_temporary_folder() {
    const char* chosen = ::getenv("TMPDIR");
    for (const char* parent : {chosen != nullptr ? chosen : "/tmp", "/tmp"}) {
        std::string folder = fmt::format("{}/belljar-attack-XXXXXX", parent);
        if (*parent == '/' && ::mkdtemp(folder.data()) != nullptr) {
            return folder;
        }
    }
    return fail(system_error("make a temporary directory"));
}

struct UnixAddress {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socklen_t size = 0;
};

// An abstract name begins with a NUL byte, which is not counted as part of a path.
Result<UnixAddress> unix_address(std::string_view name) {
    UnixAddress made;
    if (name.size() >= sizeof(made.address.sun_path)) {
        return fail(system_error("the name of a socket", ENAMETOOLONG));
    }
    std::memcpy(made.address.sun_path, name.data(), name.size());
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    return made;
}

Result<Fd> listen_unix(std::string_view name) {
    BJ_TRY(const UnixAddress place, unix_address(name));
    const auto* address = reinterpret_cast<const sockaddr*>(&place.address);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid() || ::bind(socket.get(), address, place.size) != 0 ||
        ::listen(socket.get(), 16) != 0) {
        return fail(system_error("listen on a unix socket"));
    }
    // Or an attack that fails to connect would prove nothing.
    const Fd visitor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(visitor.get(), address, place.size) != 0 ||
        !Fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid()) {
        return fail(system_error("connect to the own unix socket"));
    }
    return socket;
}

struct LoopbackSocket {
    Fd socket;
    std::uint16_t port = 0;
};

Result<LoopbackSocket> open_loopback(int type) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    LoopbackSocket made{.socket = Fd(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
    if (!made.socket.valid() || ::bind(made.socket.get(), generic, size) != 0 ||
        (type == SOCK_STREAM && ::listen(made.socket.get(), 16) != 0) ||
        ::getsockname(made.socket.get(), generic, &size) != 0) {
        return fail(system_error("listen on the loopback address"));
    }
    made.port = ntohs(address.sin_port);
    return made;
}

// Somebody connected, or sent something.
bool was_reached(const Fd& socket) {
    int type = 0;
    socklen_t size = sizeof(type);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size);
    if (type == SOCK_STREAM) {
        return Fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
    }
    std::array<char, 64> received{};
    return ::recv(socket.get(), received.data(), received.size(), 0) >= 0;
}

// The C library that this program uses, which jars use too.
std::string find_c_library() {
    const Result<std::string> maps = read_file("/proc/self/maps", mebibytes(4));
    const std::size_t name = maps ? maps->find("/libc.so.6\n") : std::string::npos;
    if (name == std::string::npos) {
        return "";
    }
    const std::size_t begin = maps->rfind(' ', name) + 1;
    return maps->substr(begin, maps->find('\n', name) - begin);
}

// Piece by piece: the memory of this process is itself under observation.
bool has_content(const std::string& path, const std::string& content) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 65536> piece{};
    std::size_t seen = 0;
    while (true) {
        const ssize_t count = ::read(file.get(), piece.data(), piece.size());
        if (count <= 0) {
            return count == 0 && seen == content.size();
        }
        const std::string_view read(piece.data(), static_cast<std::size_t>(count));
        if (content.compare(seen, read.size(), read) != 0) {
            return false;
        }
        seen += read.size();
    }
}

// Accounts of this host that a jar has no reason to know of.
json::array list_accounts() {
    constexpr std::array<std::string_view, 3> kEverywhere{"root", "nobody", "guest"};
    json::array names;
    ::setpwent();
    while (const passwd* entry = ::getpwent()) {
        const std::string_view name = entry->pw_name;
        if (names.size() < kAccountsTold &&
            std::ranges::find(kEverywhere, name) == kEverywhere.end()) {
            names.emplace_back(name);
        }
    }
    ::endpwent();
    return names;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

json::object list_namespaces() {
    json::object found;
    for (const char* name : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}) {
        std::array<char, 64> target{};
        const std::string path = fmt::format("/proc/self/ns/{}", name);
        if (::readlink(path.c_str(), target.data(), target.size() - 1) > 0) {
            found[name] = target.data();
        }
    }
    return found;
}

}  // namespace

std::string Outside::plant_secret() {
    std::string secret = fmt::format("belljar-secret-{}", random_hex(kSecretBytes));
    ::setenv("ATTACK_SECRET", secret.c_str(), 1);
    return secret;
}

Outside::Outside(std::string secret)
    : secret_(std::move(secret)),
      flag_(fmt::format("belljar-flag-{}", random_hex(kSecretBytes))),
      token_(random_hex(8)) {}

Result<std::unique_ptr<Outside>> Outside::create(std::string secret) {
    std::unique_ptr<Outside> outside(new Outside(std::move(secret)));
    BJ_TRY_VOID(outside->make_flags());
    BJ_TRY_VOID(outside->listen_abstract());
    BJ_TRY_VOID(outside->listen_path());
    BJ_TRY_VOID(outside->listen_loopback());
    outside->remember_shared_files();
    outside->own_processes_ = list_descendants();
    // Whatever else the warden has started will end by itself.
    std::erase_if(outside->own_processes_, [](const ProcessEntry& process) {
        return !process.name.starts_with("belljar-");
    });
    return outside;
}

Outside::~Outside() {
    for (const std::string& file : flag_files_) {
        ::unlink(file.c_str());
    }
    if (!folder_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    ::unsetenv("ATTACK_SECRET");
}

// Readable for everybody: file permissions shall not be what saves them.
Result<void> Outside::make_flags() {
    BJ_TRY(folder_, make_temporary_folder());
    if (::chmod(folder_.c_str(), 0755) != 0) {
        return fail(system_error("chmod a temporary directory"));
    }
    for (const std::string& place : {folder_, std::string("/var/tmp"), std::string("/dev/shm")}) {
        const std::string path = fmt::format("{}/belljar-{}", place, token_);
        const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file.valid()) {
            continue;  // not every host has every place
        }
        flag_files_.push_back(path);
        if (::fchmod(file.get(), 0644) != 0) {
            return fail(system_error("chmod a flag"));
        }
        BJ_TRY_VOID(write_all(file, flag_));
    }
    if (flag_files_.empty()) {
        return fail(system_error("make a flag", EACCES));
    }
    return {};
}

Result<void> Outside::listen_abstract() {
    BJ_TRY(Fd socket, listen_unix(std::string(1, '\0') + "belljar-" + token_));
    listeners_.push_back({.name = "the host's abstract socket", .socket = std::move(socket)});
    return {};
}

Result<void> Outside::listen_path() {
    const std::string path = folder_ + "/socket";
    BJ_TRY(Fd socket, listen_unix(path));
    if (::chmod(path.c_str(), 0777) != 0) {
        return fail(system_error("chmod a socket"));
    }
    listeners_.push_back({.name = "the host's socket file", .socket = std::move(socket)});
    return {};
}

Result<void> Outside::listen_loopback() {
    BJ_TRY(LoopbackSocket tcp, open_loopback(SOCK_STREAM));
    BJ_TRY(LoopbackSocket udp, open_loopback(SOCK_DGRAM));
    tcp_port_ = tcp.port;
    udp_port_ = udp.port;
    listeners_.push_back({.name = "the host's TCP port", .socket = std::move(tcp.socket)});
    listeners_.push_back({.name = "the host's UDP port", .socket = std::move(udp.socket)});
    return {};
}

void Outside::remember_shared_files() {
    std::array<char, PATH_MAX> python{};
    const bool known = ::realpath("/usr/bin/python3", python.data()) != nullptr;
    for (const std::string& path :
         {std::string(known ? python.data() : ""), find_c_library(),
          engine::find_warden().value_or(""), std::string("/usr/lib/os-release")}) {
        Result<std::string> content = read_file(path, kLargestSharedFile);
        if (!path.empty() && content) {
            shared_files_.push_back({.path = path, .content = std::move(*content)});
        }
    }
}

json::object Outside::told() const {
    json::array wardens;
    for (const ProcessEntry& process : own_processes_) {
        wardens.emplace_back(process.pid);
    }
    json::array shared;
    for (const SharedFile& file : shared_files_) {
        shared.emplace_back(file.path);
    }
    const std::string warden = engine::find_warden().value_or("");
    return {{"flags", json::array(flag_files_.begin(), flag_files_.end())},
            {"abstract_socket", "belljar-" + token_},
            {"socket_file", folder_ + "/socket"},
            {"tcp_port", tcp_port_},
            {"udp_port", udp_port_},
            {"accounts", list_accounts()},
            {"host_name", host_name()},
            {"host_names", {host_name(), folder_, warden.substr(0, warden.rfind('/'))}},
            {"namespaces", list_namespaces()},
            {"server_pid", ::getpid()},
            {"server_user", ::getuid()},
            {"warden_pids", std::move(wardens)},
            {"shared_files", std::move(shared)}};
}

std::string Outside::find_lost_process() const {
    const std::vector<ProcessEntry> now = list_descendants();
    for (const ProcessEntry& process : own_processes_) {
        if (std::ranges::find(now, process) == now.end()) {
            return fmt::format("{} is gone", process.name);
        }
    }
    return "";
}

bool Outside::flag_is_as_made(const std::string& path) const {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 && status.st_mode == (S_IFREG | 0644) &&
           status.st_nlink == 1 && status.st_mtim.tv_sec != 0 && has_content(path, flag_);
}

std::vector<ProcessEntry> Outside::list_jar_processes() const {
    std::vector<ProcessEntry> now = list_descendants();
    std::erase_if(now, [this](const ProcessEntry& process) {
        return std::ranges::find(own_processes_, process) != own_processes_.end();
    });
    return now;
}

std::vector<std::string> Outside::find_damage(const std::string& said) {
    std::vector<std::string> damage;
    if (said.find(flag_) != std::string::npos) {
        damage.emplace_back("a file of the host was read");
    }
    if (said.find(secret_) != std::string::npos) {
        damage.emplace_back("the server's secret was read");
    }
    for (const Listener& listener : listeners_) {
        while (was_reached(listener.socket)) {
            damage.push_back(listener.name + " was reached");
        }
    }
    for (const std::string& path : flag_files_) {
        if (!flag_is_as_made(path)) {
            damage.push_back(path + " was changed");
        }
    }
    for (const SharedFile& file : shared_files_) {
        if (!has_content(file.path, file.content)) {
            damage.push_back(file.path + " was changed");
        }
    }
    if (std::string lost = find_lost_process(); !lost.empty()) {
        damage.push_back(std::move(lost));
    }
    return damage;
}

}  // namespace belljar::apps
