#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/beneath.h"
#include "storage/conversation_changes.h"
#include "storage/conversation_store.h"

// What a ConversationStore does with the files of one conversation.
namespace belljar::storage {
namespace {

using execution::Digest;
using execution::FileName;
using execution::FilePart;
using execution::FileView;

constexpr std::size_t kCopied = std::size_t{1024} * 1024;
constexpr std::size_t kLargestPage = 10'000;

Result<void> check_path(const std::string& path) {
    if (!is_plain_path(path)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a file's path has to be relative, without \"..\" or control "
                                "characters, of at most {} bytes and {} names",
                                kLongestPath, kDeepestPath));
    }
    return {};
}

std::int64_t now() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::nanoseconds(time).count();
}

std::unexpected<Error> cannot_be_made() {
    return fail(explain_storage(system_error("place a file", EISDIR)));
}

std::unexpected<Error> too_much() {
    return fail(ErrorCode::QuotaReached,
                "all your conversations together have as many files, or as large ones, as they "
                "may; delete some");
}

// From the beginning, whatever the descriptor's own place is.
Result<std::string> digest_from_start(const Fd& file) {
    if (::lseek(file.get(), 0, SEEK_SET) != 0) {
        return fail(system_error("lseek"));
    }
    return digest_of(file);
}

}  // namespace

Result<std::vector<FileView>> ConversationStore::files(const FileName& where) const {
    if (!where.path.empty()) {
        BJ_TRY_VOID(check_path(where.path));
    }
    BJ_TRY(const ConversationDirectory conversation, open_conversation(where));
    conversation.touch();
    BJ_TRY(const std::vector<StoredEntry> entries, conversation.walk());
    std::vector<FileView> views;
    for (const StoredEntry& entry : entries) {
        const bool wanted = where.path.empty() || entry.path == where.path ||
                            entry.path.starts_with(where.path + "/");
        if (wanted && !entry.directory) {
            views.push_back(storage::view_of(entry));
        }
    }
    return views;
}

Result<execution::FilePage> ConversationStore::page_files(const execution::FileQuery& query) const {
    if (!query.where.path.empty()) {
        BJ_TRY_VOID(check_path(query.where.path));
    }
    BJ_TRY(const ConversationDirectory conversation, open_conversation(query.where));
    conversation.touch();
    BJ_TRY(const std::vector<StoredEntry> entries, conversation.walk());
    const std::string above = query.where.path.empty() ? "" : query.where.path + "/";
    const std::size_t limit = std::clamp<std::size_t>(query.page.limit, 1, kLargestPage);
    execution::FilePage page;
    for (const StoredEntry& entry : entries) {
        const bool below = entry.path.starts_with(above) && entry.path.size() > above.size();
        const bool shown = query.show == execution::Show::FilesAndDirectories || !entry.directory;
        const bool near = query.depth == execution::Depth::Tree ||
                          entry.path.find('/', above.size()) == std::string::npos;
        if (!below || !shown || !near || entry.path <= query.page.after) {
            continue;
        }
        if (page.files.size() == limit) {
            page.next = page.files.back().path;
            break;
        }
        page.files.push_back(storage::view_of(entry));
    }
    return page;
}

Result<FileView> ConversationStore::find(const FileName& name, Digest digest) const {
    BJ_TRY(const Opened opened, open_file(name, digest));
    return opened.view;
}

Result<ConversationStore::Opened> ConversationStore::open_file(const FileName& name,
                                                               Digest digest) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(name));
    conversation.touch();
    StoredEntry entry;
    Opened opened;
    BJ_TRY(opened.file, conversation.open_file(name.path, entry));
    opened.view = storage::view_of(entry);
    if (digest == Digest::Computed) {
        BJ_TRY(opened.view.sha256, digest_from_start(opened.file));
        if (::lseek(opened.file.get(), 0, SEEK_SET) != 0) {
            return fail(system_error("lseek"));
        }
    }
    return opened;
}

Result<FilePart> ConversationStore::read(const FileName& name, std::uint64_t offset,
                                         std::uint64_t length) const {
    BJ_TRY(const Opened opened, open_file(name, Digest::Omitted));
    const std::uint64_t size = opened.view.size;
    FilePart part{.file = opened.view, .offset = offset};
    part.content.resize(std::min(length, size - std::min(size, offset)));
    std::size_t filled = 0;
    while (filled < part.content.size()) {
        const ssize_t count =
            ::pread(opened.file.get(), part.content.data() + filled, part.content.size() - filled,
                    static_cast<off_t>(offset + filled));
        if (count < 0) {
            return fail(system_error("pread"));
        }
        if (count == 0) {
            break;
        }
        filled += static_cast<std::size_t>(count);
    }
    part.content.resize(filled);
    return part;
}

Result<StagedFile> ConversationStore::stage(const FileName& name) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, make_conversation(name));
    Result<StagedFile> staged = conversation.stage();
    return staged ? std::move(staged) : fail(explain_storage(staged.error()));
}

Result<StagedFile> ConversationStore::stage_copy(const FileName& name, const Fd& content) const {
    BJ_TRY(StagedFile staged, stage(name));
    std::string buffer(kCopied, '\0');
    std::uint64_t size = 0;
    while (true) {
        const ssize_t count =
            ::pread(content.get(), buffer.data(), buffer.size(), static_cast<off_t>(size));
        if (count < 0) {
            return fail(system_error("pread"));
        }
        if (count == 0) {
            return staged;
        }
        size += static_cast<std::uint64_t>(count);
        if (size > bounds_.each.space.count) {
            return fail(ErrorCode::QuotaReached,
                        fmt::format("a conversation's files can have at most {} together",
                                    format_bytes(bounds_.each.space)));
        }
        const Result<void> written =
            write_all(staged.file(), {buffer.data(), static_cast<std::size_t>(count)});
        if (!written) {
            return fail(explain_storage(written.error()));
        }
    }
}

// What takes time is done before the conversation is locked.
Result<ConversationStore::Written> ConversationStore::put(const Placing& placing,
                                                          StagedFile staged) const {
    BJ_TRY_VOID(check_path(placing.name.path));
    BJ_TRY(const ConversationDirectory conversation, make_conversation(placing.name));
    if (const Result<void> durable = synchronise(staged.file()); !durable) {
        return fail(explain_storage(durable.error()));
    }
    BJ_TRY(std::string sha256, digest_from_start(staged.file()));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_of(placing.name.principal), deadline()));
    BJ_TRY_VOID(changes.check(placing.name.path, placing.condition));
    const StoredEntry* const before = changes.find(placing.name.path);
    const bool executable =
        placing.executable || (before != nullptr && !before->directory && before->executable);
    BJ_TRY_VOID(
        changes.add_staged({.path = placing.name.path, .modified = now(), .executable = executable},
                           std::move(staged), sha256));
    BJ_TRY(const std::vector<ConversationChanges::Done> done, changes.finish());
    conversation.touch();
    if (!changes.refused().empty()) {
        return too_much();
    }
    // With the same content as before, nothing was done.
    StoredEntry entry;
    const Result<Fd> file = conversation.open_file(placing.name.path, entry);
    if (!file || (done.empty() && before == nullptr)) {
        return cannot_be_made();
    }
    Written written{.file = storage::view_of(entry), .kind = execution::FileChange::Kind::Changed};
    written.file.sha256 = std::move(sha256);
    if (!done.empty()) {
        written.kind = done.front().kind;
    }
    return written;
}

Result<ConversationStore::Written> ConversationStore::write(const FileName& name,
                                                            std::string_view content) const {
    BJ_TRY(StagedFile staged, stage(name));
    const Result<void> filled =
        content.empty() ? Result<void>{} : write_all(staged.file(), content);
    if (!filled) {
        return fail(explain_storage(filled.error()));
    }
    return put({.name = name}, std::move(staged));
}

Result<void> ConversationStore::make_directory(const FileName& name) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, make_conversation(name));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_of(name.principal), deadline()));
    const StoredEntry* const before = changes.find(name.path);
    if (before != nullptr) {
        return before->directory
                   ? Result<void>{}
                   : fail(ErrorCode::Conflict, "there is a file of that name already");
    }
    BJ_TRY_VOID(changes.make_directory(name.path));
    BJ_TRY_VOID(changes.finish());
    const Result<Fd> made = open_beneath(conversation.files(), name.path, O_RDONLY | O_DIRECTORY);
    return made ? Result<void>{} : cannot_be_made();
}

Result<std::vector<ConversationChanges::Done>> ConversationStore::move(
    const execution::FileMove& move) const {
    BJ_TRY_VOID(check_path(move.from.path));
    BJ_TRY_VOID(check_path(move.to));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(move.from));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_of(move.from.principal), deadline()));
    BJ_TRY_VOID(changes.check(move.from.path, move.condition));
    BJ_TRY_VOID(changes.move(move.from.path, move.to, move.existing));
    BJ_TRY(std::vector<ConversationChanges::Done> done, changes.finish());
    conversation.touch();
    const Result<Fd> moved = open_beneath(conversation.files(), move.to, O_RDONLY);
    const Result<Fd> left = open_beneath(conversation.files(), move.from.path, O_RDONLY);
    if (!moved || left) {
        return cannot_be_made();
    }
    return done;
}

Result<std::vector<std::string>> ConversationStore::remove_tree(
    const FileName& name, const execution::FileCondition& condition) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(name));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_of(name.principal), deadline()));
    BJ_TRY_VOID(changes.check(name.path, condition));
    BJ_TRY_VOID(changes.remove_tree(name.path));
    BJ_TRY(const std::vector<ConversationChanges::Done> done, changes.finish());
    conversation.touch();
    std::vector<std::string> gone;
    gone.reserve(done.size());
    for (const ConversationChanges::Done& change : done) {
        gone.push_back(change.file.path);
    }
    return gone;
}

Result<void> ConversationStore::remove(const FileName& name) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(name));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_of(name.principal), deadline()));
    changes.remove(name.path);
    BJ_TRY(const std::vector<ConversationChanges::Done> done, changes.finish());
    return done.empty() ? fail(ErrorCode::NotFound, "there is no such file in this conversation")
                        : Result<void>{};
}

}  // namespace belljar::storage
