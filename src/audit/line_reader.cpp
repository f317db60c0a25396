#include "audit/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace belljar::audit {
namespace {

constexpr std::size_t kPiece = std::size_t{64} * 1024;

std::unexpected<Error> too_long() {
    return fail(ErrorCode::TooLarge, "a line is longer than any record");
}

Result<std::size_t> read_at(const Fd& file, std::uint64_t offset, char* data, std::size_t size) {
    while (true) {
        const ssize_t got = ::pread(file.get(), data, size, static_cast<off_t>(offset));
        if (got >= 0) {
            return static_cast<std::size_t>(got);
        }
        if (errno != EINTR) {
            return fail(system_error("read the audit trail"));
        }
    }
}

}  // namespace

Result<LineReader::Line> LineReader::next() {
    std::size_t searched = begin_;
    while (true) {
        const std::size_t end = buffer_.find('\n', searched);
        if (end != std::string::npos) {
            const std::string_view text = std::string_view(buffer_).substr(begin_, end - begin_);
            begin_ = end + 1;
            return Line{.state = State::Whole, .text = text};
        }
        buffer_.erase(0, begin_);
        begin_ = 0;
        searched = buffer_.size();
        if (buffer_.size() > kLongestLine.count) {
            return too_long();
        }
        buffer_.resize(searched + kPiece);
        BJ_TRY(const std::size_t got, read_at(file_, offset_, &buffer_[searched], kPiece));
        buffer_.resize(searched + got);
        offset_ += got;
        if (got == 0) {
            begin_ = buffer_.size();
            return Line{.state = buffer_.empty() ? State::End : State::Torn, .text = buffer_};
        }
    }
}

Result<bool> BackwardLineReader::next(std::string& line) {
    while (true) {
        if (inside_) {
            const std::size_t end = buffer_.size() - 1;
            const std::size_t before = end == 0 ? std::string::npos : buffer_.rfind('\n', end - 1);
            if (before != std::string::npos || offset_ == 0) {
                const std::size_t begin = before == std::string::npos ? 0 : before + 1;
                line.assign(buffer_, begin, end - begin);
                buffer_.resize(begin);
                inside_ = begin > 0;
                return true;
            }
        } else if (const std::size_t last = buffer_.rfind('\n'); last != std::string::npos) {
            buffer_.resize(last + 1);
            inside_ = true;
            continue;
        } else if (offset_ == 0) {
            return false;
        }
        if (buffer_.size() > kLongestLine.count) {
            return too_long();
        }
        const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, offset_));
        std::string piece(size, '\0');
        std::size_t got = 0;
        while (got < size) {
            BJ_TRY(const std::size_t more,
                   read_at(file_, offset_ - size + got, &piece[got], size - got));
            if (more == 0) {
                return fail(ErrorCode::Unavailable, "a file of the trail became shorter");
            }
            got += more;
        }
        offset_ -= size;
        buffer_.insert(0, piece);
    }
}

}  // namespace belljar::audit
