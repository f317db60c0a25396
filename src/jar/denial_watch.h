#pragma once

#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "jar/call_rule.h"
#include "jar/denial_record.h"

namespace belljar::jar {

// Answers the calls that the filter refuses and tells about them. Runs in the jar's init: outside
// the filter, without privilege, in one thread. A call that waits here is refused whatever happens:
// if the listener closes, the kernel says ENOSYS.
class DenialWatch {
   public:
    using Tell = std::function<void(const DenialRecord&)>;

    // `listener` comes from install_filter(); `reach` is what its filter was built with.
    static Result<DenialWatch> create(Fd listener, Reach reach);

    // To be polled for POLLIN. POLLHUP says that nobody is left under the filter.
    [[nodiscard]] const Fd& listener() const { return listener_; }

    // What to do when an internet socket is about to be opened for the first time.
    void on_internet(std::function<void()> handler) { on_internet_ = std::move(handler); }

    // After POLLIN: answers one call, without blocking, and tells `tell` if it is the first of its
    // kind. That the caller died meanwhile is no error.
    Result<void> on_readable(const Tell& tell);

    [[nodiscard]] const DenialTally& tally() const { return tally_; }

   private:
    struct Sizes {
        std::size_t request;
        std::size_t response;
    };
    struct Reply {
        int error = 0;
        std::uint32_t flags = 0;
    };

    DenialWatch(Fd listener, Reach reach, const Sizes& sizes);

    static Result<Sizes> kernel_sizes();
    Result<void> answer(const seccomp_notif& request, const Reply& reply);
    [[nodiscard]] SocketAddress connect_address(const seccomp_notif& request) const;
    [[nodiscard]] bool still_waits(const seccomp_notif& request) const;

    Fd listener_;
    Reach reach_;
    // As large as this kernel has its structures, which may be more than we know of.
    std::vector<std::byte> request_;
    std::vector<std::byte> response_;
    DenialTally tally_;
    std::function<void()> on_internet_;
};

}  // namespace belljar::jar
