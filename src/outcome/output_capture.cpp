#include "outcome/output_capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace belljar::outcome {
namespace {

bool is_continuation(char letter) { return (static_cast<unsigned char>(letter) & 0xC0U) == 0x80U; }

// Without the first bytes of a character that the cut went through.
std::string_view without_cut_end(std::string_view head) {
    std::size_t start = head.size();
    while (start > 0 && head.size() - start < 4) {
        --start;
        if (!is_continuation(head[start])) {
            break;
        }
    }
    const std::string_view last = head.substr(start);
    const bool multibyte = !last.empty() && static_cast<unsigned char>(last.front()) >= 0xC0U;
    return multibyte && utf8_character_length(last) == 0 ? head.substr(0, start) : head;
}

std::string_view without_cut_begin(std::string_view tail) {
    std::size_t dropped = 0;
    while (dropped < 3 && dropped < tail.size() && is_continuation(tail[dropped])) {
        ++dropped;
    }
    return tail.substr(dropped);
}

}  // namespace

OutputCapture::OutputCapture(Bytes limit)
    : head_limit_(limit.count / 2), tail_limit_(limit.count - limit.count / 2) {}

void OutputCapture::append(std::string_view data) {
    bytes_ += data.size();
    const std::size_t for_head = std::min(data.size(), head_limit_ - head_.size());
    head_ += data.substr(0, for_head);
    data.remove_prefix(for_head);
    if (data.size() >= tail_limit_) {
        tail_ = data.substr(data.size() - tail_limit_);
        tail_start_ = 0;
        return;
    }
    const std::size_t growth = std::min(data.size(), tail_limit_ - tail_.size());
    tail_ += data.substr(0, growth);
    for (const char letter : data.substr(growth)) {
        tail_[tail_start_] = letter;
        tail_start_ = (tail_start_ + 1) % tail_limit_;
    }
}

execution::CapturedStream OutputCapture::finish() const {
    const std::string tail = tail_.substr(tail_start_) + tail_.substr(0, tail_start_);
    if (bytes_ == head_.size() + tail.size()) {
        return {.text = head_ + tail, .truncated = false, .bytes = bytes_};
    }
    const std::string_view begin = without_cut_end(head_);
    const std::string_view end = without_cut_begin(tail);
    return {.text = fmt::format("{}\n[... {} bytes omitted ...]\n{}", begin,
                                bytes_ - begin.size() - end.size(), end),
            .truncated = true,
            .bytes = bytes_};
}

}  // namespace belljar::outcome
