#include "audit/upkeep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "audit/line_reader.h"
#include "audit/search.h"
#include "audit/seq_ranges.h"
#include "base/utc_time.h"
#include "base/utf8.h"
#include "crypto/digest.h"

namespace belljar::audit {
namespace {

constexpr Duration kPatienceOfUpkeep = std::chrono::seconds(30);
constexpr std::size_t kFilesAtOnce = 100;
constexpr std::size_t kRangesAtOnce = 2000;  // in one record
constexpr std::size_t kMostRanges = 200'000;
constexpr std::size_t kLongestText = 1024;  // of an order's own

class UpkeepLock {
   public:
    static Result<UpkeepLock> take(const Fd& directory) {
        BJ_TRY(FileLock lock, FileLock::open(directory, "upkeep.lock"));
        BJ_TRY_VOID(lock.lock(kPatienceOfUpkeep));
        return UpkeepLock(std::move(lock));
    }

   private:
    explicit UpkeepLock(FileLock lock) : lock_(std::move(lock)) {}
    FileLock lock_;  // closing its file gives it up
};

struct LastRecord {
    ChainEnd end{};
    Writer::WallTime time{};
};

Result<LastRecord> last_record(const Fd& directory, std::uint64_t number) {
    BJ_TRY(const Fd file, open_trail(directory, number));
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("look at a file of the audit trail"));
    }
    BackwardLineReader reader(file, static_cast<std::uint64_t>(status.st_size));
    std::string line;
    BJ_TRY(const bool found, reader.next(line));
    const Result<LineParts> parts = split_line(line);
    const auto time = parts ? parse_utc(parts->time) : std::nullopt;
    if (!found || !time) {
        return fail(ErrorCode::Unavailable, "a file of the audit trail is damaged");
    }
    return LastRecord{.end = {.seq = parts->seq, .hash = std::string(parts->hash)}, .time = *time};
}

// What has begun, so that it can be completed after a crash; with a mac, since nobody else may have
// records erased.
std::string mac_of(const Writer& writer, std::string_view text) {
    return to_hex(
        crypto::hmac_sha256(writer.keys().mac_key, fmt::format("belljar audit erasure\n{}", text)));
}

Result<void> write_pending(const Fd& directory, const Writer& writer, const SeqRanges& ranges,
                           const ErasureOrder& order) {
    const std::string text = to_text(json::object{
        {"records", to_json(ranges)}, {"asked_by", order.asked_by}, {"reason", order.reason}});
    return replace_file(directory, kErasureFile,
                        fmt::format("{}\n{}\n", mac_of(writer, text), text), kPrivate);
}

struct PendingErasure {
    SeqRanges ranges{};
    ErasureOrder order{};
};

std::optional<PendingErasure> parse_pending(const Writer& writer, std::string_view file) {
    if (file.size() <= kHashDigits + 2 || file.back() != '\n') {
        return std::nullopt;
    }
    const std::string_view text = file.substr(kHashDigits + 1, file.size() - kHashDigits - 2);
    const Result<json::value> parsed = parse_json(text);
    const json::object* object = parsed ? parsed->if_object() : nullptr;
    const json::value* records = object != nullptr ? object->if_contains("records") : nullptr;
    const auto ranges = records != nullptr ? parse_ranges(*records) : std::nullopt;
    if (!ranges || mac_of(writer, text) != file.substr(0, kHashDigits)) {
        return std::nullopt;
    }
    const auto member = [object](std::string_view name) {
        const json::value* value = object->if_contains(name);
        return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
    };
    return PendingErasure{.ranges = *ranges,
                          .order = {.asked_by = member("asked_by"), .reason = member("reason")}};
}

// The last record of a file tells how old it is. A time that lies ahead, from before the clock was
// set back, tells nothing: the file is as old as a later one that is.
Result<std::vector<std::pair<std::uint64_t, ChainEnd>>> find_old_files(const Fd& directory,
                                                                       std::uint64_t growing,
                                                                       Writer::WallTime oldest) {
    BJ_TRY(const std::vector<std::uint64_t> files, list_trail(directory));
    std::vector<std::pair<std::uint64_t, ChainEnd>> found;
    std::size_t old = 0;
    for (const std::uint64_t number : files) {
        if (number >= growing || found.size() == kFilesAtOnce) {
            break;
        }
        BJ_TRY(const LastRecord last, last_record(directory, number));
        if (last.time >= oldest && last.time <= std::chrono::system_clock::now()) {
            break;
        }
        found.emplace_back(number, last.end);
        old = last.time < oldest ? found.size() : old;
    }
    found.resize(old);
    return found;
}

Result<void> announce(Writer& writer, const SeqRanges& ranges, const ErasureOrder& order) {
    for (std::size_t begin = 0; begin < ranges.size(); begin += kRangesAtOnce) {
        const std::size_t end = std::min(ranges.size(), begin + kRangesAtOnce);
        const SeqRanges part(ranges.begin() + static_cast<std::ptrdiff_t>(begin),
                             ranges.begin() + static_cast<std::ptrdiff_t>(end));
        Entry entry{.kind = "erasure", .body = {{"records", to_json(part)}}};
        if (!order.reason.empty()) {
            entry.body.add("reason", order.reason);
        }
        entry.personal = {{"asked_by", order.asked_by}};
        BJ_TRY_VOID(writer.append(entry));
    }
    BJ_TRY_VOID(writer.sign({}));
    return writer.sync();
}

// Rewrites one file without the personal parts. False if there was nothing to take out.
Result<bool> rewrite(const Fd& directory, std::uint64_t number, const SeqRanges& ranges) {
    BJ_TRY(const Fd file, open_trail(directory, number));
    const std::string name = trail_name(number);
    const std::string fresh = name + ".new";
    ::unlinkat(directory.get(), fresh.c_str(), 0);
    const Fd copy(::openat(directory.get(), fresh.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kPrivate));
    if (!copy.valid()) {
        return fail(system_error("make a file of the audit trail"));
    }
    BJ_TRY_VOID(give_to_owner(directory, copy));
    bool changed = false;
    LineReader reader(file, 0);
    std::string pending;
    while (true) {
        BJ_TRY(const LineReader::Line line, reader.next());
        if (line.state != LineReader::State::Whole) {
            pending += line.text;
            break;
        }
        const Result<LineParts> parts = split_line(line.text);
        if (parts && !parts->salt.empty() && contains(ranges, parts->seq)) {
            pending += erase_personal(*parts);
            changed = true;
        } else {
            pending += line.text;
            pending += '\n';
        }
        if (pending.size() >= mebibytes(1).count) {
            BJ_TRY_VOID(write_all(copy, pending));
            pending.clear();
        }
    }
    BJ_TRY_VOID(write_all(copy, pending));
    if (!changed) {
        ::unlinkat(directory.get(), fresh.c_str(), 0);
        return false;
    }
    if (::fsync(copy.get()) != 0 ||
        ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) != 0 ||
        ::fsync(directory.get()) != 0) {
        return fail(system_error("replace a file of the audit trail"));
    }
    return true;
}

Result<ErasureReport> carry_out(const Fd& directory, Writer& writer, const SeqRanges& ranges) {
    ErasureReport report;
    for (const SeqRange& range : ranges) {
        report.records += range.last - range.first + 1;
    }
    BJ_TRY(const std::vector<std::uint64_t> files, list_trail(directory));
    const std::uint64_t growing = writer.head().file;
    for (const std::uint64_t number : files) {
        if (number < growing) {
            BJ_TRY(const bool changed, rewrite(directory, number, ranges));
            report.files += changed ? 1 : 0;
        }
    }
    if (::unlinkat(directory.get(), kErasureFile, 0) != 0 && errno != ENOENT) {
        return fail(system_error("end an erasure"));
    }
    return report;
}

// Only in files that do not grow any more: up to record `last`.
Result<SeqRanges> find_records(const Fd& directory, const Filter& filter, std::uint64_t last) {
    SeqRanges ranges;
    BJ_TRY_VOID(
        search_trail(directory, filter,
                     [&ranges, last](const LineParts& parts, std::string_view) -> Result<bool> {
                         if (!parts.salt.empty() && parts.seq <= last) {
                             add_seq(ranges, parts.seq);
                         }
                         if (ranges.size() > kMostRanges) {
                             return fail(ErrorCode::TooLarge,
                                         "too many records at once; erase them in parts, by time");
                         }
                         return parts.seq < last;
                     }));
    return ranges;
}

// With the lock.
Result<ErasureReport> complete_pending(const Fd& directory, Writer& writer) {
    const Result<std::string> pending = read_small(directory, kErasureFile);
    if (!pending && pending.error().code == ErrorCode::NotFound) {
        return ErasureReport{};
    }
    BJ_TRY_VOID(pending);
    const std::optional<PendingErasure> erasure = parse_pending(writer, *pending);
    if (!erasure) {
        return fail(ErrorCode::Unavailable, "the erasure that had begun is damaged");
    }
    BJ_TRY_VOID(writer.rotate());
    BJ_TRY_VOID(announce(writer, erasure->ranges, erasure->order));
    return carry_out(directory, writer, erasure->ranges);
}

// A record holds only valid text.
std::string fit(std::string_view text) {
    return std::string(utf8_beginning(make_valid_utf8(text), kLongestText));
}

}  // namespace

Result<std::uint64_t> remove_old_files(const Fd& directory, Writer& writer, Duration keep) {
    BJ_TRY(const UpkeepLock lock, UpkeepLock::take(directory));
    const Writer::WallTime oldest =
        std::chrono::system_clock::now() -
        std::chrono::duration_cast<std::chrono::system_clock::duration>(keep);
    BJ_TRY(const auto going, find_old_files(directory, writer.head().file, oldest));
    if (going.empty()) {
        return 0;
    }
    json::array removed;
    for (const auto& [number, end] : going) {
        removed.push_back(
            json::object{{"file", number}, {"last_seq", end.seq}, {"last_hash_was", end.hash}});
    }
    BJ_TRY_VOID(writer.append({.kind = "retention", .body = {{"removed", std::move(removed)}}}));
    BJ_TRY_VOID(writer.sign({}));
    BJ_TRY_VOID(writer.sync());
    for (const auto& [number, end] : going) {  // the oldest first
        if (::unlinkat(directory.get(), trail_name(number).c_str(), 0) != 0) {
            return fail(system_error("remove a file of the audit trail"));
        }
    }
    return going.size();
}

Result<ErasureReport> erase_records(const Fd& directory, Writer& writer, ErasureOrder order) {
    const Filter& filter = order.filter;
    if (!filter.principal && !filter.conversation_id && !filter.execution_id) {
        return fail(ErrorCode::InvalidArgument,
                    "say whose records: a principal, a conversation or a run");
    }
    order.asked_by = fit(order.asked_by);
    order.reason = fit(order.reason);
    BJ_TRY(const UpkeepLock lock, UpkeepLock::take(directory));
    BJ_TRY_VOID(complete_pending(directory, writer));  // its place is taken by this one
    BJ_TRY(const std::uint64_t last, writer.rotate());
    BJ_TRY(const SeqRanges ranges, find_records(directory, filter, last));
    if (ranges.empty()) {
        return ErasureReport{};
    }
    BJ_TRY_VOID(write_pending(directory, writer, ranges, order));
    BJ_TRY_VOID(announce(writer, ranges, order));
    return carry_out(directory, writer, ranges);
}

Result<ErasureReport> finish_erasure(const Fd& directory, Writer& writer) {
    BJ_TRY(const UpkeepLock lock, UpkeepLock::take(directory));
    return complete_pending(directory, writer);
}

}  // namespace belljar::audit
