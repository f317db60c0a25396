#include "jar/spec.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "jar/seqpacket.h"

namespace belljar::jar {
namespace {

using Mount = Fd Spec::*;

std::vector<Mount> mounts_of(const SpecMessage& message) {
    std::vector<Mount> mounts;
    if (message.mode == Mode::Root) {
        mounts.push_back(&Spec::devices);
    }
    if (message.workspace == WorkspaceKind::Mount) {
        mounts.push_back(&Spec::workspace);
    }
    return mounts;
}

}  // namespace

std::string_view name_of(Mode mode) {
    switch (mode) {
        case Mode::Root:
            return "root";
        case Mode::Rootless:
            return "rootless";
        case Mode::Nested:
            return "nested";
    }
    return "nested";
}

Result<HostPath> to_host_path(const std::string& path) {
    HostPath fixed{};
    if (path.size() >= fixed.size() || path.find('\0') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument, "a path is too long");
    }
    std::ranges::copy(path, fixed.begin());
    return fixed;
}

Result<void> send_spec(const Fd& socket, const Spec& spec) {
    SpecMessage message = spec.message;
    std::vector<int> numbers;
    for (const Fd& fd : spec.descriptors) {
        numbers.push_back(fd.get());
    }
    if (message.guest == GuestKind::Fork) {
        numbers.push_back(spec.guest_socket.get());
    }
    if (message.workspace == WorkspaceKind::Directory) {
        numbers.push_back(spec.workspace.get());
    }
    message.has_courier = spec.courier.valid() ? 1 : 0;
    if (spec.courier.valid()) {
        numbers.push_back(spec.courier.get());
    }
    message.cgroup_files = static_cast<std::uint32_t>(spec.cgroup_files.size());
    for (const Fd& fd : spec.cgroup_files) {
        numbers.push_back(fd.get());
    }
    return send_packet(socket, std::as_bytes(std::span(&message, 1)), numbers);
}

Result<Spec> receive_spec(const Fd& socket) {
    BJ_TRY(Packet packet, receive_packet(socket));
    Spec spec;
    if (packet.data.size() != sizeof(SpecMessage)) {
        return fail(system_error("a spec of the wrong size", EPROTO));
    }
    std::memcpy(&spec.message, packet.data.data(), sizeof(SpecMessage));
    std::size_t next = 0;
    const auto take = [&packet, &next] {
        return next < packet.fds.size() ? std::move(packet.fds[next++]) : Fd();
    };
    for (Fd& fd : spec.descriptors) {
        fd = take();
    }
    if (spec.message.guest == GuestKind::Fork) {
        spec.guest_socket = take();
    }
    if (spec.message.workspace == WorkspaceKind::Directory) {
        spec.workspace = take();
    }
    if (spec.message.has_courier == 1) {
        spec.courier = take();
    }
    for (std::uint32_t index = 0; index < spec.message.cgroup_files; ++index) {
        spec.cgroup_files.push_back(take());
        if (!spec.cgroup_files.back().valid()) {
            return fail(system_error("a spec without its descriptors", EPROTO));
        }
    }
    const bool has_socket = spec.message.guest != GuestKind::Fork || spec.guest_socket.valid();
    const bool has_workspace =
        spec.message.workspace != WorkspaceKind::Directory || spec.workspace.valid();
    const bool has_courier = spec.message.has_courier == 0 || spec.courier.valid();
    if (next != packet.fds.size() || !spec.descriptors.back().valid() || !has_socket ||
        !has_workspace || !has_courier) {
        return fail(system_error("a spec without its descriptors", EPROTO));
    }
    if (spec.message.root.back() != '\0' || spec.message.logs.back() != '\0') {
        return fail(system_error("a spec with a path without end", EPROTO));
    }
    BJ_TRY(spec.command, command_of(spec.message.command));
    return spec;
}

Result<void> send_mounts(const Fd& socket, const Spec& spec) {
    std::vector<int> numbers;
    for (const Mount& mount : mounts_of(spec.message)) {
        numbers.push_back((spec.*mount).get());
    }
    constexpr std::byte kWord{1};
    return send_packet(socket, std::span(&kWord, 1), numbers);
}

Result<void> receive_mounts(const Fd& socket, Spec& spec) {
    BJ_TRY(Packet packet, receive_packet(socket));
    const std::vector<Mount> expected = mounts_of(spec.message);
    if (packet.data.size() != 1 || packet.fds.size() != expected.size()) {
        return fail(system_error("mounts without their descriptors", EPROTO));
    }
    for (std::size_t index = 0; index < expected.size(); ++index) {
        spec.*expected[index] = std::move(packet.fds[index]);
    }
    return {};
}

}  // namespace belljar::jar
