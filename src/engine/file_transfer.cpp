#include "engine/file_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"

namespace belljar::engine {
namespace {

using jar::LeftReason;
using jar::PackedEntry;
using jar::PackKind;
using jar::PackWriter;
using storage::ConversationChanges;
using storage::ConversationDirectory;
using storage::StoredEntry;

// What is in a jar's answer to files that were given: how many it could not put in their place.
class Confirmation final : public jar::PackSink {
   public:
    Result<void> on_entry(const PackedEntry& entry) override {
        if (entry.kind == PackKind::End) {
            failures_ = entry.number;
        }
        return {};
    }
    Result<void> on_data(std::string_view /*data*/) override { return {}; }

    [[nodiscard]] std::int64_t failures() const { return failures_; }

   private:
    std::int64_t failures_ = 0;
};

Result<void> send_file(PackWriter& writer, const ConversationDirectory& directory,
                       const StoredEntry& entry) {
    StoredEntry found;
    const Result<Fd> file = directory.open_file(entry.path, found);
    if (!file) {
        return {};  // deleted meanwhile
    }
    BJ_TRY_VOID(writer.entry({.kind = PackKind::File,
                              .path = entry.path,
                              .number = entry.modified,
                              .executable = entry.executable}));
    std::string buffer(jar::kLargestBody, '\0');
    while (true) {
        const ssize_t count = ::read(file->get(), buffer.data(), buffer.size());
        if (count < 0) {
            return fail(system_error("read"));
        }
        if (count == 0) {
            return writer.entry({.kind = PackKind::FileEnd});
        }
        BJ_TRY_VOID(writer.data({buffer.data(), static_cast<std::size_t>(count)}));
    }
}

bool is_known(const FileChannel& channel, const StoredEntry& entry) {
    const auto found = channel.known.find(entry.path);
    if (found == channel.known.end()) {
        return false;
    }
    return entry.directory ? found->second.directory : found->second == entry;
}

Result<void> send_difference(PackWriter& writer, const FileChannel& channel,
                             const ConversationDirectory& directory,
                             const std::map<std::string, StoredEntry>& now) {
    for (auto known = channel.known.rbegin(); known != channel.known.rend(); ++known) {
        const auto found = now.find(known->first);
        if (found == now.end() || found->second.directory != known->second.directory) {
            BJ_TRY_VOID(writer.entry({.kind = PackKind::Gone, .path = known->first}));
        }
    }
    for (const auto& [path, entry] : now) {
        if (is_known(channel, entry)) {
            continue;
        }
        if (entry.directory) {
            BJ_TRY_VOID(writer.entry({.kind = PackKind::Directory, .path = path}));
        } else {
            BJ_TRY_VOID(send_file(writer, directory, entry));
        }
    }
    return {};
}

Result<std::map<std::string, StoredEntry>> entries_of(const ConversationDirectory& directory) {
    BJ_TRY(std::vector<StoredEntry> entries, directory.walk());
    std::map<std::string, StoredEntry> by_path;
    for (StoredEntry& entry : entries) {
        by_path.emplace(entry.path, std::move(entry));
    }
    return by_path;
}

constexpr std::size_t kMostNamed = 256;  // files of one list of an access

// What a jar says of what happened to files, by name and once each.
class AccessList {
   public:
    AccessList(const FileChannel& channel, const std::optional<ProgramFile>& program)
        : known_(channel.known), program_(program) {}

    void on_entry(const PackedEntry& entry) {
        const auto before = known_.find(entry.path);
        const bool file = before != known_.end() && !before->second.directory;
        if (entry.kind == PackKind::Read && file) {
            read_.insert(entry.path);
        } else if (entry.kind == PackKind::Gone && file) {
            deleted_.insert(entry.path);
        } else if (entry.kind == PackKind::File && !is_program(entry.path) &&
                   (!file || before->second.modified != entry.number)) {
            written_.insert(entry.path);
        } else if (entry.kind == PackKind::ReadsSeen) {
            complete_ = true;
        } else if (entry.kind == PackKind::Left &&
                   (entry.reason == LeftReason::TooLarge || entry.reason == LeftReason::TooMany)) {
            written_.insert(make_valid_utf8(entry.path));
        }
    }

    // Also what has another content at the same time of change.
    void add(const std::vector<ConversationChanges::Done>& changes) {
        for (const ConversationChanges::Done& done : changes) {
            if (done.kind != execution::FileChange::Kind::Deleted) {
                written_.insert(done.file.path);
            }
        }
    }

    [[nodiscard]] execution::FileAccess result() const {
        execution::FileAccess access{.complete = complete_};
        take_first(read_, access.read, access.more);
        take_first(written_, access.written, access.more);
        take_first(deleted_, access.deleted, access.more);
        return access;
    }

   private:
    [[nodiscard]] bool is_program(const std::string& path) const {
        return program_ && program_->may_be(path);
    }
    static void take_first(const std::set<std::string>& all, std::vector<std::string>& some,
                           std::uint64_t& more) {
        for (const std::string& path : all) {
            if (some.size() < kMostNamed) {
                some.push_back(path);
            } else {
                ++more;
            }
        }
    }

    const std::map<std::string, StoredEntry>& known_;
    const std::optional<ProgramFile>& program_;
    std::set<std::string> read_;
    std::set<std::string> written_;
    std::set<std::string> deleted_;
    bool complete_ = false;
};

// Whatever a jar sends, within the conversation's bounds. What does not fit is left; what cannot be
// written ends the taking.
class Taker final : public jar::PackSink {
   public:
    Taker(ConversationChanges& changes, AccessList& access,
          const std::optional<ProgramFile>& program)
        : changes_(changes), access_(access), program_(program) {}

    Result<void> on_entry(const PackedEntry& entry) override {
        access_.on_entry(entry);
        switch (entry.kind) {
            case PackKind::Directory:
                return keep_or_leave(changes_.make_directory(entry.path), entry.path);
            case PackKind::File:
                return begin(entry);
            case PackKind::FileEnd:
                return end();
            case PackKind::Gone:
                changes_.remove(entry.path);
                break;
            case PackKind::Left:
                leave({.path = make_valid_utf8(entry.path), .reason = entry.reason});
                break;
            case PackKind::End:
                // Those that were told by name are counted already.
                taken_.left_count +=
                    static_cast<std::uint64_t>(std::max<std::int64_t>(entry.number - told_, 0));
                taken_.whole = true;
                break;
            default:
                break;
        }
        return {};
    }

    Result<void> on_data(std::string_view data) override {
        return coming_ ? keep_or_leave(changes_.append(data), path_) : Result<void>{};
    }

    [[nodiscard]] TakenFiles result() && { return std::move(taken_); }

   private:
    Result<void> begin(const PackedEntry& entry) {
        path_ = entry.path;
        coming_ = true;
        return keep_or_leave(
            changes_.begin_file(
                {.path = entry.path, .modified = entry.number, .executable = entry.executable}),
            entry.path);
    }

    Result<void> end() {
        if (!std::exchange(coming_, false)) {
            return {};
        }
        const bool program = program_ && program_->may_be(path_);
        return changes_.end_file(program ? std::string_view(program_->sha256) : "");
    }

    Result<void> keep_or_leave(const Result<void>& kept, const std::string& path) {
        if (kept) {
            return {};
        }
        coming_ = false;
        changes_.drop_file();
        if (kept.error().code != ErrorCode::QuotaReached) {
            return fail(kept.error());
        }
        leave({.path = path, .reason = LeftReason::TooMany});
        --told_;  // by us
        return {};
    }

    void leave(LeftFile file) {
        ++told_;
        ++taken_.left_count;
        if (taken_.left.size() < jar::kMostLeftTold) {
            taken_.left.push_back(std::move(file));
        }
    }

    ConversationChanges& changes_;
    AccessList& access_;
    const std::optional<ProgramFile>& program_;
    TakenFiles taken_;
    std::int64_t told_ = 0;
    std::string path_;
    bool coming_ = false;
};

}  // namespace

Result<void> give_files(FileChannel& channel, const ConversationDirectory& directory,
                        storage::ConversationBounds bounds, TimePoint deadline) {
    BJ_TRY(const Fd lock, directory.lock(ConversationDirectory::Lock::Shared, deadline));
    BJ_TRY(auto now, entries_of(directory));
    PackWriter writer(channel.socket, deadline);
    BJ_TRY_VOID(send_difference(writer, channel, directory, now));
    BJ_TRY_VOID(writer.entry({.kind = PackKind::End,
                              .number = static_cast<std::int64_t>(
                                  std::min<std::uint64_t>(bounds.space.count, INT64_MAX))}));
    BJ_TRY_VOID(writer.flush());
    Confirmation confirmation;
    BJ_TRY_VOID(jar::receive_pack(channel.socket, confirmation, deadline));
    if (confirmation.failures() != 0) {
        return fail(ErrorCode::TooLarge,
                    "the conversation's files do not fit into a program's workspace; delete some, "
                    "or ask for more memory where the workspace is in memory");
    }
    channel.known = std::move(now);
    return {};
}

Result<void> ask_for_files(const FileChannel& channel, TimePoint deadline) {
    PackWriter writer(channel.socket, deadline);
    BJ_TRY_VOID(writer.entry({.kind = PackKind::Take}));
    return writer.flush();
}

Result<TakenFiles> take_files(FileChannel& channel, const ConversationDirectory& directory,
                              storage::ConversationBounds bounds,
                              const std::optional<ProgramFile>& program, TimePoint deadline) {
    BJ_TRY(ConversationChanges changes, ConversationChanges::begin(directory, bounds, deadline));
    AccessList access(channel, program);
    Taker taker(changes, access, program);
    // What is complete is kept, however the stream ended.
    [[maybe_unused]] const Result<void> received =
        jar::receive_pack(channel.socket, taker, deadline);
    TakenFiles taken = std::move(taker).result();
    BJ_TRY(taken.changes, changes.finish());
    for (const std::string& path : changes.refused()) {
        ++taken.left_count;
        if (taken.left.size() < jar::kMostLeftTold) {
            taken.left.push_back({.path = path, .reason = LeftReason::TooMany});
        }
    }
    access.add(taken.changes);
    taken.access = access.result();
    taken.access.complete = taken.access.complete && taken.whole;
    BJ_TRY(channel.known, entries_of(directory));
    return taken;
}

}  // namespace belljar::engine
