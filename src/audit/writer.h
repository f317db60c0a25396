#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "audit/head.h"
#include "audit/line.h"
#include "audit/trail_place.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::audit {

// Adds records to a trail. Several processes may do so at once, each record under the trail's lock;
// within one, any thread. A record that append() has answered for is in the kernel's hands, so that
// no end of this process can lose it; what a crash has left of another is settled by whoever writes
// next, who says so in a record.
class Writer {
   public:
    using WallTime = std::chrono::system_clock::time_point;

    struct Bounds {
        Bytes rotate_size = mebibytes(64);
        Duration rotate_age = std::chrono::hours(24);
    };

    // Begins a trail where there is none. The directory must belong to this process' user.
    static Result<std::unique_ptr<Writer>> open(const Fd& directory, Bounds bounds);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer();

    struct Appended {
        std::uint64_t seq = 0;
        std::string line{};
    };
    Result<Appended> append(const Entry& entry);

    // Signs the end, if there is anything since the last signature that is `age` old.
    Result<void> sign(Duration age);
    // Closes the last file and begins another. The number of the closed one's last record.
    Result<std::uint64_t> rotate();
    // What was written reaches the disk.
    Result<void> sync();
    // Whether the last file has become too old.
    [[nodiscard]] bool is_due_for_rotation();

    [[nodiscard]] Head head();
    [[nodiscard]] const Keys& keys() const { return keys_; }
    // False if the disk would not give room for what comes next; records of what is under way
    // still find some.
    [[nodiscard]] bool has_room();
    // The same as far as is known, without asking.
    [[nodiscard]] bool expects_room() const { return has_room_.load(); }

   private:
    Writer(Fd directory, Bounds bounds, Keys keys, FileLock lock);
    class Hold;

    // With the lock: takes over what others have written, and settles what one has left half done.
    Result<void> catch_up();
    Result<void> begin();
    Result<void> adopt_rest();
    Result<void> rebuild(std::string why);
    Result<void> open_file(std::uint64_t number);
    Result<void> put(const Entry& entry, Appended* appended = nullptr);
    Result<void> write_line(std::string_view text);
    Result<void> write_head(const Head& head);
    Result<void> put_signature();
    Result<void> put_rotation();
    void reserve(std::uint64_t size);

    Fd directory_;
    Bounds bounds_;
    Keys keys_;
    FileLock lock_;
    std::mutex mutex_;
    Fd head_file_;
    std::string head_text_;  // as we have left it
    Head head_{};
    Fd file_;
    std::uint64_t open_number_ = 0;
    std::uint64_t reserved_ = 0;  // bytes of the file that have their place on the disk
    bool can_reserve_ = true;
    std::atomic<bool> has_room_{true};
};

}  // namespace belljar::audit
