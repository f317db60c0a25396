#include "host/container.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

using namespace std::string_view_literals;

TEST(HostContainer, NeedsANamespaceOfItsOwn) {
    EXPECT_EQ(container_of({.first_cgroup = "0::/init.scope\n"}), "");
    EXPECT_EQ(container_of({.own_namespaces = true, .first_cgroup = "0::/\n"}), "unknown");
}

TEST(HostContainer, MarkersWithoutNamespacesAreLeftOver) {
    EXPECT_EQ(container_of({.docker_file = true}), "");
    EXPECT_EQ(container_of({.variable = "lxc"}), "");
}

TEST(HostContainer, TellsTheNamespacesOfTheBoot) {
    EXPECT_TRUE(is_initial_namespace("pid:[4026531836]"));
    EXPECT_TRUE(is_initial_namespace("uts:[4026531838]"));
    EXPECT_FALSE(is_initial_namespace("pid:[4026532278]"));
    EXPECT_FALSE(is_initial_namespace(""));
}

TEST(HostContainer, IsRecognisedByMarkerFiles) {
    EXPECT_EQ(container_of({.own_namespaces = true, .docker_file = true}), "docker");
    EXPECT_EQ(container_of({.own_namespaces = true, .podman_file = true, .variable = "oci"}),
              "podman");
    EXPECT_EQ(container_of({.own_namespaces = true, .docker_file = true, .kubernetes = true}),
              "kubernetes");
}

TEST(HostContainer, IsRecognisedByItsVariable) {
    EXPECT_EQ(container_of({.own_namespaces = true, .variable = "systemd-nspawn"}),
              "systemd-nspawn");
}

TEST(HostContainer, IsRecognisedByItsCgroup) {
    EXPECT_EQ(container_of({.own_namespaces = true, .first_cgroup = "5:memory:/docker/0123abc\n"}),
              "docker");
    EXPECT_EQ(container_of({.own_namespaces = true,
                            .first_cgroup = "0::/kubepods.slice/pod1/cri-containerd-2.scope\n"}),
              "kubernetes");
    EXPECT_EQ(container_of({.own_namespaces = true, .first_cgroup = "0::/lxc/box\n"}), "lxc");
}

TEST(HostContainer, FindsAVariableInAnEnvironment) {
    constexpr std::string_view kEnvironment = "PATH=/bin\0container=lxc\0containers=no\0"sv;
    EXPECT_EQ(variable_of(kEnvironment, "container"), "lxc");
    EXPECT_EQ(variable_of(kEnvironment, "containers"), "no");
    EXPECT_EQ(variable_of(kEnvironment, "contain"), "");
    EXPECT_EQ(variable_of("", "container"), "");
    EXPECT_EQ(variable_of("container", "container"), "");
}

}  // namespace
}  // namespace belljar::host
