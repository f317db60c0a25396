#include "host/container.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "host/kernel_file.h"

namespace belljar::host {
namespace {

// Part of a cgroup path -> who makes such paths. The more telling ones first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kCgroupHints{
    {{"kubepods", "kubernetes"},
     {"/docker", "docker"},
     {"libpod", "podman"},
     {"/containerd", "containerd"},
     {"/lxc", "lxc"},
     {"/machine.slice/", "systemd-nspawn"},
     {"/garden", "garden"}}};

// PROC_IPC_INIT_INO and its neighbours in the kernel's include/linux/proc_ns.h.
constexpr std::array<std::string_view, 3> kInitialNamespaces{"pid:[4026531836]", "uts:[4026531838]",
                                                             "ipc:[4026531839]"};

bool has_own_namespaces() {
    for (const char* name : {"pid", "uts", "ipc"}) {
        std::array<char, 64> target{};
        const std::string path = fmt::format("/proc/self/ns/{}", name);
        if (::readlink(path.c_str(), target.data(), target.size() - 1) > 0 &&
            !is_initial_namespace(target.data())) {
            return true;
        }
    }
    return false;
}

std::string variable_of_this_process(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

std::string variable_of(std::string_view environment, std::string_view name) {
    while (!environment.empty()) {
        const std::size_t length = std::min(environment.find('\0'), environment.size());
        const std::string_view entry = environment.substr(0, length);
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
            return std::string(entry.substr(name.size() + 1));
        }
        environment.remove_prefix(std::min(length + 1, environment.size()));
    }
    return {};
}

bool is_initial_namespace(std::string_view link) {
    return std::ranges::find(kInitialNamespaces, link) != kInitialNamespaces.end();
}

std::string container_of(const ContainerTraces& traces) {
    if (!traces.own_namespaces) {
        return {};
    }
    if (traces.kubernetes) {
        return "kubernetes";
    }
    if (traces.docker_file) {
        return "docker";
    }
    if (traces.podman_file) {
        return "podman";
    }
    if (!traces.variable.empty()) {
        return traces.variable;
    }
    for (const auto& [part, engine] : kCgroupHints) {
        if (traces.first_cgroup.find(part) != std::string::npos) {
            return std::string(engine);
        }
    }
    return "unknown";
}

ContainerTraces read_container_traces() {
    ContainerTraces traces{
        .own_namespaces = has_own_namespaces(),
        .docker_file = ::access("/.dockerenv", F_OK) == 0,
        .podman_file = ::access("/run/.containerenv", F_OK) == 0,
        .variable = variable_of_this_process("container"),
        .kubernetes = !variable_of_this_process("KUBERNETES_SERVICE_HOST").empty(),
        .first_cgroup = read_text("/proc/1/cgroup").value_or("")};
    if (traces.variable.empty()) {
        // systemd keeps it there for containers it starts in; only root can read it.
        traces.variable = variable_of(read_text("/proc/1/environ").value_or(""), "container");
    }
    return traces;
}

}  // namespace belljar::host
