#include "engine/launched_jar.h"

namespace belljar::engine {

Result<LaunchedJar> launch_jar(const asio::any_io_executor& executor, WardenLink& warden,
                               const runner::Manifest& manifest, const execution::Limits& limits,
                               Birth birth) {
    BJ_TRY(GuestIo io, GuestIo::create(executor, limits));
    BJ_TRY(auto guest_ends, io.take_guest_ends(manifest.bootstrap));
    isolation::Launch launch{
        .command = {.arguments = manifest.command, .environment = manifest.environment},
        .limits = limits,
        .proc = manifest.proc == runner::ProcView::Masked ? jar::ProcView::Masked
                                                          : jar::ProcView::ProcessesOnly,
        .write_execute = manifest.write_execute == runner::WriteExecute::Denied
                             ? jar::WriteExecute::Denied
                             : jar::WriteExecute::Allowed,
        .zygote = birth.zygote};
    if (manifest.has_launcher()) {
        launch.command = {.arguments = {"launcher"}};  // the request says what is executed
        launch.guest = jar::GuestKind::Launcher;
    }
    BJ_TRY(const isolation::JarId id, warden.launch(launch, std::move(guest_ends), birth.begin));
    return LaunchedJar{.id = id, .io = std::move(io), .begin = birth.begin};
}

}  // namespace belljar::engine
