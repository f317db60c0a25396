#pragma once

#include <string>
#include <string_view>

namespace belljar::host {

// Traces that container engines leave in what they run.
struct ContainerTraces {
    // A pid, ipc or uts namespace that is not the one the kernel booted with. Without one, the
    // other traces are left over from the making of a disk image.
    bool own_namespaces = false;
    bool docker_file = false;    // /.dockerenv
    bool podman_file = false;    // /run/.containerenv
    std::string variable{};      // "container" of this process or of pid 1
    bool kubernetes = false;     // KUBERNETES_SERVICE_HOST
    std::string first_cgroup{};  // text of /proc/1/cgroup
};

// "docker", "kubernetes", ..., "unknown"; empty if this is no container.
[[nodiscard]] std::string container_of(const ContainerTraces& traces);

// The value of a variable in the text of /proc/<pid>/environ.
[[nodiscard]] std::string variable_of(std::string_view environment, std::string_view name);

// Whether a link such as "pid:[4026531836]" below /proc/self/ns names a namespace of the boot: the
// kernel has fixed numbers for these.
[[nodiscard]] bool is_initial_namespace(std::string_view link);

[[nodiscard]] ContainerTraces read_container_traces();

}  // namespace belljar::host
