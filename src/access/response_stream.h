#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace belljar::access {

// How an answer begins that is sent in pieces. Its length is not known.
struct StreamHead {
    std::string content_type{};
    std::vector<std::pair<std::string, std::string>> headers{};
    std::string keep_alive{};  // sent when there has been nothing else to send for a while
};

// An answer that is sent while it comes into being: whoever answers puts pieces in, the connection
// takes them out as fast as its client reads. Neither waits for the other. Used on the I/O thread
// only; shared by the two, because either may end first.
class ResponseStream {
   public:
    // Told by the connection: `on_open` is called once, when there will be pieces; `on_piece`
    // whenever there is something new to take.
    struct Reader {
        std::function<void()> on_open{};
        std::function<void()> on_piece{};
    };

    // Pieces that may be left out find a full queue beyond this.
    static constexpr Bytes kCapacity = kibibytes(256);

    explicit ResponseStream(Reader reader) : reader_(std::move(reader)) {}

    // Headers that the answer carries besides those of its head, if it becomes a stream.
    void add_headers(std::vector<std::pair<std::string, std::string>> headers) {
        headers_ = std::move(headers);
    }
    // From now on the answer is a stream, and what the handler returns is not sent.
    void open(StreamHead head);
    [[nodiscard]] bool is_open() const { return open_; }
    // A piece that may be left out: false if it was, because the client does not keep up. It then
    // takes no more of them until half of the queue is free, so that gaps are few.
    bool offer(std::string_view piece);
    // A piece that must not be left out. Only for what comes a bounded number of times.
    void put(std::string_view piece);

    // The connection has gone on or away: whatever is put in from now on is lost.
    void detach() { reader_.reset(); }
    [[nodiscard]] const StreamHead& head() const { return head_; }
    // Everything that waits.
    [[nodiscard]] std::string take();
    [[nodiscard]] bool empty() const { return queue_.empty(); }
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    // How many bytes were taken from the queue so far, which tells whether the client reads.
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

   private:
    void append(std::string_view piece);

    std::optional<Reader> reader_;
    StreamHead head_;
    std::vector<std::pair<std::string, std::string>> headers_;
    std::string queue_;
    std::uint64_t taken_ = 0;
    bool open_ = false;
    bool full_ = false;
};

using ResponseStreamPtr = std::shared_ptr<ResponseStream>;

}  // namespace belljar::access
