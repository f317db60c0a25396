#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "isolation/host_message.h"
#include "isolation/warden_messages.h"
#include "jar/nursery.h"
#include "jar/zygote.h"

namespace belljar::isolation {

// An interpreter that forks guests, as the warden sees it.
class Zygote {
   public:
    // `program` is what it runs first.
    static Result<Zygote> start(const ZygoteMessage& message, Fd program, const HostMessage& host,
                                jar::Nursery& nursery);

    [[nodiscard]] const Fd& exit_fd() const { return process_.fd(); }
    [[nodiscard]] const Fd& control() const { return control_; }
    // The answer comes over control().
    Result<void> order(const jar::GuestOrder& order) const;
    [[nodiscard]] Result<jar::OrderAnswer> receive_answer() const;
    [[nodiscard]] pid_t pid() const { return process_.pid(); }
    // Nobody will order anything more; it ends by let_go(), when it has answered everything.
    void retire() { retired_ = true; }
    [[nodiscard]] bool retired() const { return retired_; }
    void let_go();
    // An error says why it never became one.
    Result<void> reap() const;

   private:
    PidFd process_;
    Fd socket_;  // for its set-up
    Fd control_;
    bool retired_ = false;
};

}  // namespace belljar::isolation
