#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::audit {

// Where copies of records go, for collection by others.
enum class CopyTarget { Stdout, Syslog, Journald };

[[nodiscard]] Result<std::vector<CopyTarget>> parse_copy_targets(
    const std::vector<std::string>& names);

// What one record looks like there.
[[nodiscard]] std::string syslog_message(std::string_view line, std::string_view time);  // RFC 5424
[[nodiscard]] std::string journal_message(std::string_view line);

// Sends copies from a thread of its own. Whoever writes a record never waits: what finds no room in
// the queue, or no reader, is counted as lost. The trail itself has it in any case.
class Copies {
   public:
    struct Places {
        int standard_output = 1;
        std::string syslog = "/dev/log";
        std::string journald = "/run/systemd/journal/socket";
    };

    Copies(std::vector<CopyTarget> targets, Places places);
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;
    // Gives what is queued a moment to leave.
    ~Copies();

    // The line with its break.
    void send(std::string_view line);
    [[nodiscard]] std::uint64_t lost() const { return lost_.load(); }

   private:
    void serve();
    [[nodiscard]] bool deliver(CopyTarget target, const std::string& line);
    [[nodiscard]] bool write_out(std::string_view line);
    [[nodiscard]] static bool send_datagram(Fd& socket, const std::string& path,
                                            std::string_view text);

    std::vector<CopyTarget> targets_;
    Places places_;
    Fd syslog_;
    Fd journald_;
    std::atomic<std::uint64_t> lost_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> queue_;
    std::size_t queued_bytes_ = 0;
    bool closing_ = false;
    std::string unwritten_;  // of a line that standard output took a part of
    std::thread thread_;
};

}  // namespace belljar::audit
