#include "isolation/zygote.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "jar/device_tree.h"
#include "jar/reports.h"

namespace belljar::isolation {
namespace {

constexpr std::uint64_t kOwnFiles = 8U << 20U;  // a copy of the library

// Beside init, in the folder of the programs.
Result<Fd> open_library(const HostMessage& host) {
    const std::string init(host.init.data());
    const std::string path = init.substr(0, init.rfind('/') + 1) + "belljar-python.so";
    Fd library(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!library.valid()) {
        return fail(system_error("open " + path));
    }
    return library;
}

jar::SpecMessage plan_for(const ZygoteMessage& message, const HostMessage& host) {
    jar::SpecMessage plan{};
    plan.mode = host.mode;
    plan.guest = jar::GuestKind::Zygote;
    plan.workspace = jar::WorkspaceKind::Memory;
    plan.proc = message.proc;
    plan.tmp_bytes = kOwnFiles;
    plan.workspace_bytes = kOwnFiles;
    plan.root = host.root;
    plan.command = message.command;
    return plan;
}

}  // namespace

Result<Zygote> Zygote::start(const ZygoteMessage& message, Fd program, const HostMessage& host,
                             jar::Nursery& nursery) {
    BJ_TRY_VOID(jar::command_of(message.command));
    BJ_TRY(jar::SocketPair sockets, jar::make_seqpacket_pair());
    BJ_TRY(jar::SocketPair controls, jar::make_seqpacket_pair());
    jar::Spec spec{.message = plan_for(message, host)};
    for (std::size_t index = 0; index < 2; ++index) {
        spec.descriptors[index] = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    }
    spec.descriptors[2] = Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));  // for its last words
    spec.descriptors[jar::kZygoteProgram] = std::move(program);
    BJ_TRY(spec.descriptors[jar::kZygoteLibrary], open_library(host));
    spec.descriptors[jar::kZygoteControl] = std::move(controls.second);
    if (host.mode == jar::Mode::Root) {
        BJ_TRY(spec.devices, jar::make_device_tree());
    }
    Zygote made;
    BJ_TRY(const std::uint32_t stage, nursery.stage_for(spec.message, Fd()));
    BJ_TRY(made.process_, nursery.bear_zygote(sockets.second, stage));
    made.socket_ = std::move(sockets.first);
    made.control_ = std::move(controls.first);
    BJ_TRY_VOID(jar::send_spec(made.socket_, spec));
    BJ_TRY_VOID(jar::send_mounts(made.socket_, spec));
    return made;
}

Result<void> Zygote::order(const jar::GuestOrder& order) const {
    return jar::send_order(control_, order);
}

Result<jar::OrderAnswer> Zygote::receive_answer() const {
    BJ_TRY(const jar::Packet packet, jar::receive_packet(control_));
    jar::OrderAnswer answer{};
    if (packet.data.size() != sizeof(answer)) {
        return fail(system_error("the zygote is gone", EPIPE));
    }
    std::memcpy(&answer, packet.data.data(), sizeof(answer));
    return answer;
}

// Killed, for it may hang as well; nothing of it is needed any more, and its guests are not its
// own.
void Zygote::let_go() {
    control_.reset();
    [[maybe_unused]] const Result<void> sent = process_.signal(SIGKILL);  // ESRCH: it has ended
}

Result<void> Zygote::reap() const {
    BJ_TRY_VOID(process_.wait());
    while (true) {
        BJ_TRY(const jar::Packet packet, jar::receive_packet(socket_));
        if (packet.data.empty()) {
            return {};
        }
        BJ_TRY(const jar::JarReport report, jar::decode_report(packet.data));
        if (report.event == jar::JarEvent::StepFailed) {
            return fail(system_error(std::string(jar::name_of(report.step)), report.value));
        }
    }
}

}  // namespace belljar::isolation
