// A form that a stranger has sent: whatever the bytes are and in whatever pieces they come, parts
// lie inside of the body, one after the other, and the pieces make no difference.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "storage/multipart.h"

namespace {

using belljar::Result;
using belljar::storage::MultipartParser;
using belljar::storage::PartHead;

class Judge final : public belljar::storage::PartSink {
   public:
    explicit Judge(std::uint64_t size) : size_(size) {}

    Result<void> on_part(const PartHead& head, std::uint64_t offset) override {
        if (inside_ || offset < end_ || offset > size_ ||
            head.field.size() > MultipartParser::kMostHeader) {
            std::abort();
        }
        inside_ = true;
        end_ = offset;
        found_.push_back(head.file_name.value_or(""));
        return {};
    }
    Result<void> on_end(std::uint64_t length) override {
        end_ += length;
        if (!inside_ || end_ > size_) {
            std::abort();
        }
        inside_ = false;
        found_.push_back(std::to_string(length));
        return {};
    }
    [[nodiscard]] const std::vector<std::string>& found() const { return found_; }

   private:
    std::uint64_t size_;
    std::uint64_t end_ = 0;
    bool inside_ = false;
    std::vector<std::string> found_;
};

bool parse(std::string_view body, const std::string& boundary, std::size_t piece, Judge& judge) {
    MultipartParser parser(boundary, judge);
    while (!body.empty()) {
        if (!parser.feed(body.substr(0, piece))) {
            return false;
        }
        body.remove_prefix(std::min(piece, body.size()));
    }
    return parser.finish().has_value();
}

}  // namespace

// The first line is the Content-Type.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t line = text.find('\n');
    if (line == std::string_view::npos) {
        return 0;
    }
    const Result<std::string> boundary = belljar::storage::multipart_boundary(text.substr(0, line));
    const std::string_view body = text.substr(line + 1);
    const std::string chosen = boundary ? *boundary : "b";
    Judge whole(body.size());
    Judge pieces(body.size());
    const bool first = parse(body, chosen, body.size() + 1, whole);
    const bool second = parse(body, chosen, 1 + size % 13, pieces);
    if (first != second || (first && whole.found() != pieces.found())) {
        std::abort();
    }
    return 0;
}
