#include "engine/launched_jar.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace belljar::engine {
namespace {

// Of a program that has no use for one; nobody should find out.
constexpr Bytes kWorkspaceInMemory = mebibytes(16);

// The same file with a position of its own, to read: guests share what they are started with.
Result<Fd> open_program(const runner::Manifest& manifest) {
    if (!manifest.program.file) {
        return make_sealed_file("program", manifest.bootstrap);
    }
    const std::string path = fmt::format("/proc/self/fd/{}", manifest.program.file->get());
    Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) {
        return fail(system_error("open a guest's program"));
    }
    return opened;
}

struct StreamPair {
    Fd ours;
    Fd theirs;
};

Result<StreamPair> make_stream_pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("socketpair"));
    }
    return StreamPair{.ours = Fd(ends[0]), .theirs = Fd(ends[1])};
}

}  // namespace

Result<LaunchedJar> launch_jar(const asio::any_io_executor& executor, WardenLink& warden,
                               const runner::Manifest& manifest, const execution::Limits& limits,
                               Birth birth) {
    BJ_TRY(GuestIo io, GuestIo::create(executor, limits));
    BJ_TRY(Fd program, open_program(manifest));
    auto guest_ends = io.take_guest_ends(std::move(program));
    isolation::Launch launch{
        .command = {.arguments = manifest.command, .environment = manifest.environment},
        .limits = limits,
        .proc = manifest.proc == runner::ProcView::Masked ? jar::ProcView::Masked
                                                          : jar::ProcView::ProcessesOnly,
        .write_execute = manifest.write_execute == runner::WriteExecute::Denied
                             ? jar::WriteExecute::Denied
                             : jar::WriteExecute::Allowed,
        .zygote = birth.zygote,
        .logs = birth.tools && birth.tools->needs_logs ? isolation::Logs::Shown
                                                       : isolation::Logs::Hidden,
        .disk = birth.disk};
    if (birth.disk == isolation::Disk::None) {
        launch.limits.workspace = std::min(launch.limits.workspace, kWorkspaceInMemory);
    }
    if (manifest.has_launcher()) {
        launch.command = {.arguments = {"launcher"}};  // the request says what is executed
        launch.guest = jar::GuestKind::Launcher;
    }
    BJ_TRY(StreamPair courier, make_stream_pair());
    Fd tools;
    if (birth.tools && birth.tools->file.valid()) {
        tools = Fd(::fcntl(birth.tools->file.get(), F_DUPFD_CLOEXEC, 0));
        if (!tools.valid()) {
            return fail(system_error("duplicate the tools"));
        }
    }
    BJ_TRY(const isolation::JarId id,
           warden.launch(launch, std::move(guest_ends), birth.begin,
                         {.courier = std::move(courier.theirs), .tools = std::move(tools)}));
    auto files = std::make_shared<FileChannel>(FileChannel{.socket = std::move(courier.ours)});
    return LaunchedJar{.id = id,
                       .io = std::move(io),
                       .begin = birth.begin,
                       .files = std::move(files),
                       .tools = std::move(birth.tools)};
}

}  // namespace belljar::engine
