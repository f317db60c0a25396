#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/result.h"

namespace belljar::storage {

class OutputRecording;

// One stream as it was kept. Cut, if it was longer than its limit or there was no room.
struct StoredStream {
    std::uint64_t bytes = 0;
    bool cut = false;
};

// The streams of one run, by OutputStream; absent if a stream was short enough for its result.
using StoredOutput = std::array<std::optional<StoredStream>, 2>;

// A run, and whose it is.
struct OutputOwner {
    std::string execution_id{};
    std::string principal{};  // empty: the one without a name
};

struct OpenStream {
    Fd file{};
    std::uint64_t bytes = 0;
};

// The whole output of runs whose result could hold only a part of it, below outputs/ in the data
// directory: one directory per run, named by its execution id, that appears when it is complete.
// Bounded in number and in space; the oldest go first. Names come from our own ids alone; what a
// client asks for is only compared with them. Used on one thread; outlives its recordings.
class OutputStore {
   public:
    struct Bounds {
        std::uint32_t runs = 256;
        Bytes space = gibibytes(1);  // of all files, unfinished ones too
    };

    // Finds what an earlier server kept and removes what it left unfinished.
    static Result<std::unique_ptr<OutputStore>> open(const Fd& data_directory, Bounds bounds);

    // Gives a directory that open() made to the account that the server will run as. Denied if one
    // that was there belongs to somebody else.
    [[nodiscard]] Result<void> give_to(uid_t user, gid_t group) const;

    // For one run, to be given what it writes.
    [[nodiscard]] OutputRecording record(OutputOwner owner, Bytes stream_limit);

    // What somebody else owns does not exist.
    [[nodiscard]] std::optional<StoredOutput> find(const OutputOwner& owner) const;
    // The execution ids of one principal, the newest first.
    [[nodiscard]] std::vector<std::string> list(std::string_view principal) const;
    // NotFound if nothing is kept under that name.
    [[nodiscard]] Result<OpenStream> open_stream(const OutputOwner& owner,
                                                 execution::OutputStream stream) const;

    [[nodiscard]] std::uint64_t used_bytes() const { return kept_bytes_ + unfinished_bytes_; }

   private:
    friend class OutputRecording;
    struct Found;
    struct Kept {
        StoredOutput output{};
        std::string principal{};
    };

    OutputStore(Fd directory, Bounds bounds) : directory_(std::move(directory)), bounds_(bounds) {}

    Result<void> take_stock();
    // Removes old output until there is room for that much more. False, and nothing is removed, if
    // what is unfinished leaves none.
    [[nodiscard]] bool make_room(std::uint64_t bytes);
    void add(const std::string& execution_id, Kept kept);
    [[nodiscard]] const Kept* find_kept(const OutputOwner& owner) const;
    void remove_oldest();

    Fd directory_;
    Bounds bounds_;
    bool made_ = false;
    std::map<std::string, Kept, std::less<>> runs_;
    std::deque<std::string> ages_;  // the keys of runs_, oldest first
    std::uint64_t kept_bytes_ = 0;
    std::uint64_t unfinished_bytes_ = 0;
};

// What one run writes, on its way into the store. Nothing is on disk before the first byte comes,
// nothing can be seen before publish(), and nothing is left if that is not called. A fault stops
// the keeping of a stream, never the run.
class OutputRecording {
   public:
    OutputRecording(OutputRecording&& other) noexcept;
    OutputRecording& operator=(OutputRecording&&) = delete;
    OutputRecording(const OutputRecording&) = delete;
    OutputRecording& operator=(const OutputRecording&) = delete;
    ~OutputRecording();

    void append(execution::OutputStream stream, std::string_view data);
    // False if there was nothing to keep.
    Result<bool> publish();
    // The first fault.
    [[nodiscard]] const std::optional<Error>& fault() const { return fault_; }

   private:
    friend class OutputStore;

    struct Stream {
        Fd file{};
        std::optional<StoredStream> stored{};
        bool ended = false;  // something did not fit or could not be written
    };

    OutputRecording(OutputStore& store, OutputOwner owner, Bytes stream_limit)
        : store_(&store), owner_(std::move(owner)), limit_(stream_limit.count) {}

    Result<void> make_directory();
    Result<void> open_file(execution::OutputStream stream);
    Result<void> write(execution::OutputStream stream, std::string_view data);

    OutputStore* store_;
    OutputOwner owner_;
    std::uint64_t limit_;
    Fd directory_;
    std::array<Stream, 2> streams_;
    std::uint64_t bytes_ = 0;  // of both
    std::optional<Error> fault_;
};

}  // namespace belljar::storage
