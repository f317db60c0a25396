#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/fd.h"
#include "base/result.h"
#include "jar/seccomp_filter.h"
#include "jar/spec.h"

// An interpreter with its modules imported, which forks guests into jars that are ready for them.
// It lives beside the nursery: with rights over jars, none over the host, and no code of a guest's.
namespace belljar::jar {

// Its descriptors, in the places where guests have others.
inline constexpr int kZygoteProgram = 3;
inline constexpr int kZygoteLibrary = 4;
inline constexpr int kZygoteControl = 5;
inline constexpr int kZygoteProcess = 6;  // its directory in /proc; closed before the first fork

// The warden orders one guest. With the descriptors of GuestOrder, in that order.
struct OrderMessage {
    std::uint64_t jar;
    std::uint32_t born_in_cgroup;  // 1: a version 2 directory comes along
    SpecMessage spec;
};

// What the zygote says: that it is ready (jar 0), or what became of an order.
struct OrderAnswer {
    std::uint64_t jar;
    std::int32_t child;  // the guest, by its number outside of the jar
    std::int32_t sys_errno;
};

struct GuestOrder {
    std::uint64_t jar = 0;
    Spec spec{};
    Fd init{};      // pidfd: who is in the jar's namespaces
    Fd reports{};   // to the warden
    Fd listener{};  // to init, which lets the guest in, for the seccomp listener
    Fd cgroup{};    // version 2 directory; may be invalid
};

// The warden's side.
[[nodiscard]] Result<void> send_order(const Fd& zygote, const GuestOrder& order);

// The zygote's side. A pid namespace cannot be entered but only be given to a child.
[[nodiscard]] Result<GuestOrder> receive_order(const Fd& warden);
[[nodiscard]] Result<void> send_answer(const Fd& warden, const OrderAnswer& answer);
// Forks into the jar's pid namespace: 0 in the child, which is the warden's and not ours.
[[nodiscard]] Result<pid_t> fork_guest(const GuestOrder& order);
// In the child: takes its place in the jar, once init lets it. Ends the process if any step fails.
void enter_jar(const GuestOrder& order, std::span<const sock_filter> filter);

// Init's side: everything stands. The socket is that of Spec.
[[nodiscard]] Result<void> let_in(const Fd& guest);

}  // namespace belljar::jar
