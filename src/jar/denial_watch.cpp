#include "jar/denial_watch.h"

#include <linux/ioctl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "jar/syscall_table.h"

namespace belljar::jar {
namespace {

// Since Linux 6.6: whoever is woken by a notification runs on the same processor at once.
constexpr unsigned long kSetFlags = _IOW(SECCOMP_IOC_MAGIC, 4, __u64);
constexpr unsigned long kSyncWakeUp = 1;

// Until Linux 5.17 this ioctl had the other direction in its number, and still answers to it.
constexpr unsigned long kIdValid = _IOW(SECCOMP_IOC_MAGIC, 2, __u64);
constexpr unsigned long kIdValidBefore = _IOR(SECCOMP_IOC_MAGIC, 2, __u64);

constexpr std::size_t kConnectAddress = 1;
constexpr std::size_t kConnectLength = 2;

}  // namespace

DenialWatch::DenialWatch(Fd listener, Reach reach, const Sizes& sizes)
    : listener_(std::move(listener)),
      reach_(reach),
      request_(sizes.request),
      response_(sizes.response) {}

Result<DenialWatch::Sizes> DenialWatch::kernel_sizes() {
    seccomp_notif_sizes sizes{};
    if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0UL, &sizes) != 0) {
        return fail(system_error("SECCOMP_GET_NOTIF_SIZES"));
    }
    return Sizes{
        .request = std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)),
        .response = std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp))};
}

Result<DenialWatch> DenialWatch::create(Fd listener, Reach reach) {
    if (!listener.valid()) {
        return fail(system_error("there is no listener", EBADF));
    }
    BJ_TRY(const Sizes sizes, kernel_sizes());
    // Only speed depends on it, and older kernels lack it.
    [[maybe_unused]] const int faster = ::ioctl(listener.get(), kSetFlags, kSyncWakeUp);
    return DenialWatch(std::move(listener), reach, sizes);
}

Result<void> DenialWatch::on_readable(const Tell& tell) {
    std::ranges::fill(request_, std::byte{0});
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, request_.data()) != 0) {
        if (errno == ENOENT || errno == EINTR) {
            return {};
        }
        return fail(system_error("SECCOMP_IOCTL_NOTIF_RECV"));
    }
    seccomp_notif request{};
    std::memcpy(&request, request_.data(), sizeof request);

    const auto number = static_cast<std::uint32_t>(request.data.nr);
    const Treatment treatment = treatment_of(number);
    const std::span<const __u64, 6> arguments(request.data.args);
    const Answer decided = decide(rule_for(treatment, reach_), arguments);
    const bool goes_on = decided.ruling == Ruling::Observe;
    // The filter sends only what is observed or refused; anything else would be our own mistake,
    // and is refused.
    const int error = decided.ruling == Ruling::Refuse ? decided.error : EPERM;

    DenialRecord record{.number = number,
                        .error = goes_on ? 0 : error,
                        .key = key_argument(treatment, arguments),
                        .count = 1,
                        .address = {}};
    if (treatment == Treatment::Connect) {
        record.address = connect_address(request);
    }
    // Before the answer, so that whoever watches knows of it before the guest does anything else:
    // its end may be told by others.
    if (goes_on && treatment == Treatment::Socket && on_internet_) {
        std::exchange(on_internet_, nullptr)();
    }
    if (!goes_on || seeks_network(record.address)) {
        if (const std::optional<DenialRecord> first = tally_.add(record)) {
            tell(*first);
        }
    }
    return answer(request, goes_on ? Reply{.error = 0, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE}
                                   : Reply{.error = error, .flags = 0});
}

Result<void> DenialWatch::answer(const seccomp_notif& request, const Reply& reply) {
    const seccomp_notif_resp response{
        .id = request.id, .val = 0, .error = -reply.error, .flags = reply.flags};
    std::ranges::fill(response_, std::byte{0});
    std::memcpy(response_.data(), &response, sizeof response);
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, response_.data()) != 0 &&
        errno != ENOENT) {
        return fail(system_error("SECCOMP_IOCTL_NOTIF_SEND"));
    }
    return {};
}

// Only for telling: the guest can change the address while the call goes on.
SocketAddress DenialWatch::connect_address(const seccomp_notif& request) const {
    std::array<std::byte, sizeof(SocketAddress::bytes)> bytes{};
    const auto length = static_cast<std::uint32_t>(request.data.args[kConnectLength]);
    const iovec here{.iov_base = bytes.data(),
                     .iov_len = std::min<std::size_t>(length, bytes.size())};
    const iovec there{.iov_base = reinterpret_cast<void*>(request.data.args[kConnectAddress]),
                      .iov_len = here.iov_len};
    const ssize_t read =
        ::process_vm_readv(static_cast<pid_t>(request.pid), &here, 1, &there, 1, 0);
    // Only if the caller still waits was it the caller's memory, and not that of a later process
    // with its number.
    if (read <= 0 || !still_waits(request)) {
        return {};
    }
    return internet_address(std::span(bytes).first(static_cast<std::size_t>(read)));
}

bool DenialWatch::still_waits(const seccomp_notif& request) const {
    __u64 id = request.id;
    return ::ioctl(listener_.get(), kIdValid, &id) == 0 ||
           (errno == EINVAL && ::ioctl(listener_.get(), kIdValidBefore, &id) == 0);
}

}  // namespace belljar::jar
