#include "audit/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "audit/line_reader.h"
#include "base/utc_time.h"
#include "crypto/digest.h"

namespace belljar::audit {
namespace {

constexpr Duration kPatience = std::chrono::milliseconds(500);
constexpr std::uint64_t kRoomAhead = std::uint64_t{256} * 1024;
constexpr std::uint64_t kRoomLow = std::uint64_t{64} * 1024;  // for what is under way
constexpr int kFormat = 1;

std::int64_t seconds_of(Writer::WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::int64_t now_seconds() { return seconds_of(std::chrono::system_clock::now()); }

// A time that lies ahead was written before the clock was set back: nobody waits for it.
bool has_passed(Duration age, std::int64_t since) {
    const auto passed = std::chrono::seconds(now_seconds() - since);
    return passed < std::chrono::seconds(0) || passed >= age;
}

Result<std::uint64_t> size_of(const Fd& file) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("look at a file of the audit trail"));
    }
    return static_cast<std::uint64_t>(status.st_size);
}

std::unexpected<Error> damaged(std::string_view what) {
    return fail(ErrorCode::Unavailable,
                fmt::format("the audit trail is damaged: {}; `belljar audit verify` shows where. "
                            "Keep its directory and choose another with audit.path",
                            what));
}

// The head once this record has been added to the last file.
Head after(Head head, const LineParts& parts, std::size_t line_size) {
    head.size += line_size;
    head.end = {.seq = parts.seq, .hash = std::string(parts.hash)};
    const std::int64_t time = seconds_of(parse_utc(parts.time).value_or(Writer::WallTime{}));
    if (parts.kind == "signature") {
        head.signed_seq = parts.seq;
        head.signed_at = time;
    } else if (parts.kind == "file") {
        head.begun_at = time;
    }
    return head;
}

}  // namespace

// The lock of this process' threads and that of all processes.
class Writer::Hold {
   public:
    explicit Hold(Writer& writer)
        : lock_(writer.mutex_), file_lock_(writer.lock_), held_(file_lock_.lock(kPatience)) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
        if (held_) {
            file_lock_.unlock();
        }
    }
    [[nodiscard]] const Result<void>& held() const { return held_; }

   private:
    std::lock_guard<std::mutex> lock_;
    const FileLock& file_lock_;
    Result<void> held_;
};

Writer::Writer(Fd directory, Bounds bounds, Keys keys, FileLock lock)
    : directory_(std::move(directory)),
      bounds_(bounds),
      keys_(std::move(keys)),
      lock_(std::move(lock)) {}

Writer::~Writer() = default;

Result<std::unique_ptr<Writer>> Writer::open(const Fd& directory, Bounds bounds) {
    Fd own(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own.valid()) {
        return fail(system_error("open the directory of the audit trail"));
    }
    BJ_TRY(FileLock lock, FileLock::open(own, "lock"));
    BJ_TRY_VOID(lock.lock(kPatience));  // two that begin at once must not make two keys
    Result<Keys> keys = load_or_make_keys(own);
    lock.unlock();
    BJ_TRY_VOID(keys);
    std::unique_ptr<Writer> writer(
        new Writer(std::move(own), bounds, std::move(*keys), std::move(lock)));
    writer->head_file_ = Fd(::openat(writer->directory_.get(), kHeadFile,
                                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivate));
    if (!writer->head_file_.valid()) {
        return fail(system_error("open the head of the audit trail"));
    }
    BJ_TRY_VOID(give_to_owner(writer->directory_, writer->head_file_));
    const Hold hold(*writer);
    BJ_TRY_VOID(hold.held());
    BJ_TRY_VOID(writer->catch_up());
    writer->reserve(0);
    return writer;
}

Result<void> Writer::catch_up() {
    std::array<char, kHeadSize> bytes{};
    const ssize_t got = ::pread(head_file_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) {
        return fail(system_error("read the head of the audit trail"));
    }
    const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
    const bool known = !head_text_.empty() && text == head_text_;
    if (known) {
        BJ_TRY(const std::uint64_t size, size_of(file_));
        if (size == head_.size) {
            return {};
        }
    } else if (text.empty()) {
        BJ_TRY(const std::vector<std::uint64_t> files, list_trail(directory_));
        return files.empty() ? begin() : rebuild("the head was missing");
    } else {
        const Result<Head> head = parse_head(text, keys_.mac_key);
        if (!head) {
            return rebuild("the head was damaged");
        }
        head_ = *head;
        head_text_ = text;
    }
    if (open_number_ != head_.file && !open_file(head_.file)) {
        return rebuild("the last file was missing");
    }
    BJ_TRY(const std::uint64_t size, size_of(file_));
    if (size < head_.size) {
        return rebuild("records were missing at the end");
    }
    return adopt_rest();
}

Result<void> Writer::begin() {
    head_ = Head{.file = 1};
    BJ_TRY_VOID(open_file(1));
    return put({.kind = "file",
                .body = {{"file", 1},
                         {"format", kFormat},
                         {"key", keys_.id()},
                         {"public_key", to_hex(keys_.signing.public_bytes())}}});
}

Result<void> Writer::open_file(std::uint64_t number) {
    const bool fresh = number > 1 && number > head_.file;
    const int flags =
        O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (fresh || head_.end.seq == 0 ? O_CREAT : 0);
    Fd file(::openat(directory_.get(), trail_name(number).c_str(), flags, kPrivate));
    if (!file.valid()) {
        return fail(system_error("open a file of the audit trail"));
    }
    BJ_TRY_VOID(give_to_owner(directory_, file));
    file_ = std::move(file);
    open_number_ = number;
    reserved_ = 0;
    return {};
}

// What stands behind the end that the head tells: whole records of one who was killed before it
// could say so, and perhaps a part of another.
Result<void> Writer::adopt_rest() {
    LineReader reader(file_, head_.size);
    const Head before = head_;
    Result<LineReader::Line> line = reader.next();
    while (line && line->state == LineReader::State::Whole) {
        const Result<LineParts> parts = split_line(line->text);
        if (!parts || !check_line(*parts, head_.end, keys_.mac_key)) {
            return damaged("a record does not follow from the one before it");
        }
        head_ = after(head_, *parts, line->text.size() + 1);
        line = reader.next();
    }
    BJ_TRY_VOID(line);
    std::optional<Entry> note;
    if (line->state == LineReader::State::Torn) {
        const Result<LineParts> parts = split_line(line->text);
        if (parts && check_line(*parts, head_.end, keys_.mac_key)) {
            const Head whole = after(head_, *parts, line->text.size() + 1);
            BJ_TRY_VOID(write_all(file_, "\n"));
            head_ = whole;
        } else {
            note = Entry{.kind = "recovery",
                         .body = {{"why", "a record was never completed"},
                                  {"torn_bytes", line->text.size()},
                                  {"torn_sha256", crypto::sha256_hex(line->text)}}};
            if (::ftruncate(file_.get(), static_cast<off_t>(head_.size)) != 0) {
                return fail(system_error("cut off what was never completed"));
            }
        }
    }
    if (head_ != before) {
        BJ_TRY_VOID(write_head(head_));
    }
    return note ? put(*note) : Result<void>{};
}

// The head cannot be believed, or tells of more than there is: the records themselves are asked.
Result<void> Writer::rebuild(std::string why) {
    BJ_TRY(std::vector<std::uint64_t> files, list_trail(directory_));
    const Head claimed = head_;
    while (!files.empty()) {
        const std::uint64_t number = files.back();
        files.pop_back();
        head_ = Head{.file = number};
        BJ_TRY_VOID(open_file(number));
        LineReader reader(file_, 0);
        Result<LineReader::Line> line = reader.next();
        bool first = true;
        while (line && line->state == LineReader::State::Whole) {
            const Result<LineParts> parts = split_line(line->text);
            if (parts && first) {
                head_.end = {.seq = parts->seq - 1, .hash = std::string(parts->prev)};
            }
            first = false;
            if (!parts || !check_line(*parts, head_.end, keys_.mac_key)) {
                return damaged(fmt::format("{} cannot be read to its end", trail_name(number)));
            }
            head_ = after(head_, *parts, line->text.size() + 1);
            line = reader.next();
        }
        BJ_TRY_VOID(line);
        if (head_.size > 0) {
            if (::ftruncate(file_.get(), static_cast<off_t>(head_.size)) != 0) {
                return fail(system_error("cut off what was never completed"));
            }
            return put({.kind = "recovery",
                        .body = {{"why", why},
                                 {"head_seq", claimed.end.seq},
                                 {"continues_after", head_.end.seq}}});
        }
    }
    return damaged("no file of it can be read");
}

Result<void> Writer::write_line(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file_.get(), text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            Error error = system_error("write the audit trail", written < 0 ? errno : ENOSPC);
            // What stays in spite of this is cut off before the next record.
            static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(head_.size)) == 0);
            reserved_ = 0;
            return fail(std::move(error));
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> Writer::write_head(const Head& head) {
    std::string text = encode_head(head, keys_.mac_key);
    const ssize_t written = ::pwrite(head_file_.get(), text.data(), text.size(), 0);
    if (written != static_cast<ssize_t>(text.size())) {
        return fail(system_error("write the head of the audit trail"));
    }
    head_ = head;
    head_text_ = std::move(text);
    return {};
}

Result<void> Writer::put(const Entry& entry, Appended* appended) {
    EncodedLine line =
        encode_line(entry, head_.end, std::chrono::system_clock::now(), keys_.mac_key);
    BJ_TRY_VOID(write_line(line.text));
    Head next = head_;
    next.size += line.text.size();
    next.end = line.end;
    if (entry.kind == "signature") {
        next.signed_seq = line.end.seq;
        next.signed_at = now_seconds();
    } else if (entry.kind == "file") {
        next.begun_at = now_seconds();
    }
    if (const Result<void> written = write_head(next); !written) {
        static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(head_.size)) == 0);
        return written;
    }
    if (appended != nullptr) {
        *appended = {.seq = line.end.seq, .line = std::move(line.text)};
    }
    return {};
}

Result<void> Writer::put_signature() {
    return put({.kind = "signature",
                .body = {{"signed", head_.end.seq},
                         {"key", keys_.id()},
                         {"signature", to_hex(keys_.signing.sign(signed_text(head_.end)))}}});
}

Result<void> Writer::put_rotation() {
    if (head_.signed_seq != head_.end.seq) {
        BJ_TRY_VOID(put_signature());
    }
    const Head before = head_;
    // Nobody brings it to the disk later, and what follows must not get there without it.
    if (::ftruncate(file_.get(), static_cast<off_t>(head_.size)) != 0 ||
        ::fdatasync(file_.get()) != 0) {
        return fail(system_error("close a file of the audit trail"));
    }
    const std::uint64_t number = head_.file + 1;
    BJ_TRY_VOID(open_file(number));
    head_.file = number;
    head_.size = 0;
    Result<void> begun;
    if (::ftruncate(file_.get(), 0) != 0 ||  // one that was begun and never completed
        ::fsync(directory_.get()) != 0) {
        begun = fail(system_error("begin a file of the audit trail"));
    } else {
        begun = put({.kind = "file",
                     .body = {{"file", number},
                              {"format", kFormat},
                              {"key", keys_.id()},
                              {"public_key", to_hex(keys_.signing.public_bytes())}}});
    }
    if (!begun) {
        head_ = before;
        ::unlinkat(directory_.get(), trail_name(number).c_str(), 0);
        BJ_TRY_VOID(open_file(before.file));
    }
    return begun;
}

// On a disk that is nearly full, what comes next is refused while what is under way is recorded.
void Writer::reserve(std::uint64_t size) {
    if (!can_reserve_ || head_.size + size + kRoomLow <= reserved_) {
        has_room_ = true;
        return;
    }
    if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(head_.size),
                    static_cast<off_t>(size + kRoomAhead)) == 0) {
        reserved_ = head_.size + size + kRoomAhead;
        has_room_ = true;
        return;
    }
    can_reserve_ = errno != EOPNOTSUPP && errno != ENOSYS;
    has_room_ = !can_reserve_;
}

Result<Writer::Appended> Writer::append(const Entry& entry) {
    const Hold hold(*this);
    BJ_TRY_VOID(hold.held());
    BJ_TRY_VOID(catch_up());
    if (head_.size >= bounds_.rotate_size.count) {
        BJ_TRY_VOID(put_rotation());
    }
    reserve(0);
    Appended appended;
    BJ_TRY_VOID(put(entry, &appended));
    return appended;
}

Result<void> Writer::sign(Duration age) {
    const Hold hold(*this);
    BJ_TRY_VOID(hold.held());
    BJ_TRY_VOID(catch_up());
    if (head_.signed_seq == head_.end.seq || !has_passed(age, head_.signed_at)) {
        return {};
    }
    return put_signature();
}

Result<std::uint64_t> Writer::rotate() {
    const Hold hold(*this);
    BJ_TRY_VOID(hold.held());
    BJ_TRY_VOID(catch_up());
    BJ_TRY_VOID(put_rotation());
    return head_.end.seq - 1;  // the first of the next file stands behind it
}

bool Writer::is_due_for_rotation() {
    const std::lock_guard lock(mutex_);
    return has_passed(bounds_.rotate_age, head_.begun_at);
}

Result<void> Writer::sync() {
    Fd file;
    {
        const std::lock_guard lock(mutex_);
        file = Fd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 3));
    }
    if (!file.valid() || ::fdatasync(file.get()) != 0 || ::fdatasync(head_file_.get()) != 0) {
        return fail(system_error("bring the audit trail to the disk"));
    }
    return {};
}

Head Writer::head() {
    const std::lock_guard lock(mutex_);
    return head_;
}

bool Writer::has_room() {
    const Hold hold(*this);
    if (!hold.held() || !catch_up()) {
        return false;
    }
    reserve(0);
    return has_room_;
}

}  // namespace belljar::audit
