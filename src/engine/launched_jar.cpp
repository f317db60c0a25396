#include "engine/launched_jar.h"

#include <fcntl.h>
#include <fmt/format.h>

namespace belljar::engine {
namespace {

// The same file with a position of its own, to read: guests share what they are started with.
Result<Fd> open_again(const Fd& file) {
    const std::string path = fmt::format("/proc/self/fd/{}", file.get());
    Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) {
        return fail(system_error("open a guest's program"));
    }
    return opened;
}

}  // namespace

Result<LaunchedJar> launch_jar(const asio::any_io_executor& executor, WardenLink& warden,
                               const runner::Manifest& manifest, const execution::Limits& limits,
                               Birth birth) {
    BJ_TRY(GuestIo io, GuestIo::create(executor, limits));
    BJ_TRY(Fd program, open_again(*manifest.program));
    auto guest_ends = io.take_guest_ends(std::move(program));
    const isolation::Launch launch{
        .command = {.arguments = manifest.command, .environment = manifest.environment},
        .limits = limits,
        .proc = manifest.proc == runner::ProcView::Masked ? jar::ProcView::Masked
                                                          : jar::ProcView::ProcessesOnly,
        .write_execute = manifest.write_execute == runner::WriteExecute::Denied
                             ? jar::WriteExecute::Denied
                             : jar::WriteExecute::Allowed,
        .zygote = birth.zygote};
    BJ_TRY(const isolation::JarId id, warden.launch(launch, std::move(guest_ends), birth.begin));
    return LaunchedJar{.id = id, .io = std::move(io), .begin = birth.begin};
}

}  // namespace belljar::engine
