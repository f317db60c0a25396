#include "storage/conversation_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "base/beneath.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"
#include "crypto/digest.h"
#include "jar/scratch.h"

namespace belljar::storage {
namespace {

using execution::ConversationView;
using execution::Digest;
using execution::FileName;
using execution::FilePart;
using execution::FileView;

constexpr const char* kDirectory = "conversations";
constexpr const char* kAbout = "about.json";
constexpr std::string_view kUnfinished = "unfinished-";
constexpr Bytes kLargestAbout = kibibytes(64);
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY;

std::unexpected<Error> no_such_conversation() {
    return fail(ErrorCode::NotFound, "there is no such conversation");
}

Result<void> check_path(const std::string& path) {
    if (!is_plain_path(path)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a file's path has to be relative, without \"..\" or control "
                                "characters, of at most {} bytes and {} names",
                                kLongestPath, kDeepestPath));
    }
    return {};
}

std::vector<std::string> names_in(const Fd& directory) {
    std::vector<std::string> names;
    Result<Fd> copy = open_beneath(directory, ".", kOpenDirectory);
    DIR* const opened = copy ? ::fdopendir(copy->get()) : nullptr;
    if (opened == nullptr) {
        return names;
    }
    [[maybe_unused]] const int owned = copy->release();
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, ::closedir);
    while (const dirent* entry = ::readdir(entries.get())) {
        names.emplace_back(static_cast<const char*>(entry->d_name));
    }
    return names;
}

bool is_hash(std::string_view name) {
    return name.size() == 64 &&
           name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whatever is in it: a conversation that was never finished, or one that somebody removes.
void remove_directory(const Fd& parent, const std::string& name) {
    if (const Result<Fd> directory = open_beneath(parent, name, kOpenDirectory)) {
        [[maybe_unused]] const Result<void> emptied = jar::remove_content(*directory);
    }
    ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

Result<void> write_about(const Fd& directory, const FileName& of) {
    const json::value about{{"conversation_id", of.conversation_id}, {"principal", of.principal}};
    BJ_TRY(const Fd file, open_beneath(directory, kAbout, O_WRONLY | O_CREAT | O_EXCL, 0600));
    BJ_TRY_VOID(write_all(file, to_text(about)));
    return ::fsync(file.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

// Nothing if it is not whole.
std::optional<std::string> read_id(const Fd& directory) {
    const Result<Fd> file = open_beneath(directory, kAbout, O_RDONLY);
    const Result<std::string> text = file ? read_all(*file, kLargestAbout) : fail(file.error());
    const Result<json::value> about = text ? parse_json(*text) : fail(text.error());
    const json::value* id =
        about && about->is_object() ? about->get_object().if_contains("conversation_id") : nullptr;
    if (id == nullptr || !id->is_string()) {
        return std::nullopt;
    }
    return std::string(id->get_string());
}

// Only now can it be seen: under its name, with everything that belongs to it.
Result<void> make_directory(const Fd& parent, const std::string& name, const FileName& of) {
    const std::string temporary = std::string(kUnfinished) + random_hex(16);
    if (::mkdirat(parent.get(), temporary.c_str(), 0700) != 0) {
        return fail(system_error("mkdirat"));
    }
    BJ_TRY(const Fd directory, open_beneath(parent, temporary, kOpenDirectory));
    Result<void> made = write_about(directory, of);
    if (made) {
        made = ConversationDirectory::prepare(directory);
    }
    if (made && ::renameat2(parent.get(), temporary.c_str(), parent.get(), name.c_str(),
                            RENAME_NOREPLACE) != 0) {
        made = fail(system_error("renameat2"));
    }
    if (!made) {
        remove_directory(parent, temporary);
        return made;
    }
    return ::fsync(parent.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

}  // namespace

Result<void> check_conversation_id(std::string_view conversation_id) {
    constexpr std::size_t kLongest = 256;
    const auto is_control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
    if (conversation_id.empty() || conversation_id.size() > kLongest ||
        std::ranges::any_of(conversation_id, is_control) || !is_valid_utf8(conversation_id)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"conversation_id\" must be 1 to {} bytes of text without "
                                "control characters",
                                kLongest));
    }
    return {};
}

Result<std::unique_ptr<ConversationStore>> ConversationStore::open(const Fd& data_directory,
                                                                   Bounds bounds) {
    const bool made = ::mkdirat(data_directory.get(), kDirectory, 0700) == 0;
    if (!made && errno != EEXIST) {
        return fail(system_error("mkdir conversations"));
    }
    BJ_TRY(Fd directory, open_beneath(data_directory, kDirectory, kOpenDirectory));
    std::unique_ptr<ConversationStore> store(new ConversationStore(std::move(directory), bounds));
    store->made_ = made;
    return store;
}

Result<void> ConversationStore::give_to(uid_t user, gid_t group) const {
    struct stat status{};
    if (::fstat(directory_.get(), &status) != 0) {
        return fail(system_error("fstat conversations"));
    }
    if (status.st_uid == user) {
        return {};
    }
    // Empty and our own: another process like this one has just made it.
    const bool just_made = status.st_uid == ::geteuid() && names_in(directory_).size() <= 2;
    if (!made_ && !just_made) {
        return fail(ErrorCode::Denied,
                    fmt::format("the directory \"{}\" in the data directory belongs to another "
                                "user than the server will run as; give it to that user or remove "
                                "it",
                                kDirectory));
    }
    if (::fchown(directory_.get(), user, group) != 0) {
        return fail(system_error("fchown conversations"));
    }
    return {};
}

Result<Fd> ConversationStore::open_principal(const std::string& principal) const {
    Result<Fd> directory = open_beneath(directory_, crypto::sha256_hex(principal), kOpenDirectory);
    if (!directory && directory.error().sys_errno == ENOENT) {
        return no_such_conversation();
    }
    return directory;
}

Result<ConversationDirectory> ConversationStore::open_conversation(const FileName& of) const {
    BJ_TRY_VOID(check_conversation_id(of.conversation_id));
    BJ_TRY(const Fd principal, open_principal(of.principal));
    Result<Fd> directory =
        open_beneath(principal, crypto::sha256_hex(of.conversation_id), kOpenDirectory);
    if (!directory && directory.error().sys_errno == ENOENT) {
        return no_such_conversation();
    }
    if (!directory) {
        return fail(directory.error());
    }
    return ConversationDirectory::open(std::move(*directory));
}

Result<ConversationDirectory> ConversationStore::make_conversation(const FileName& of) const {
    Result<ConversationDirectory> found = open_conversation(of);
    if (found || found.error().code != ErrorCode::NotFound) {
        return found;
    }
    const std::string owner = crypto::sha256_hex(of.principal);
    if (::mkdirat(directory_.get(), owner.c_str(), 0700) != 0 && errno != EEXIST) {
        return fail(system_error("mkdirat"));
    }
    BJ_TRY(const Fd principal, open_principal(of.principal));
    // One at a time, so that they can be counted. Held for no longer than this takes.
    if (::flock(principal.get(), LOCK_EX) != 0) {
        return fail(system_error("flock"));
    }
    std::size_t count = 0;
    for (const std::string& name : names_in(principal)) {
        if (name.starts_with(kUnfinished)) {
            remove_directory(principal, name);
        }
        count += is_hash(name) ? 1 : 0;
    }
    if (count >= bounds_.conversations) {
        return fail(ErrorCode::QuotaReached,
                    fmt::format("there can be at most {} conversations with files; delete some",
                                bounds_.conversations));
    }
    const Result<void> made = make_directory(principal, crypto::sha256_hex(of.conversation_id), of);
    if (!made && made.error().sys_errno != EEXIST) {
        return fail(made.error());
    }
    return open_conversation(of);
}

Result<std::vector<ConversationView>> ConversationStore::list(const std::string& principal) const {
    std::vector<ConversationView> views;
    const Result<Fd> owner = open_principal(principal);
    if (!owner && owner.error().code == ErrorCode::NotFound) {
        return views;
    }
    if (!owner) {
        return fail(owner.error());
    }
    for (const std::string& name : names_in(*owner)) {
        Result<Fd> directory = is_hash(name) ? open_beneath(*owner, name, kOpenDirectory)
                                             : Result<Fd>(no_such_conversation());
        const std::optional<std::string> id = directory ? read_id(*directory) : std::nullopt;
        struct stat status{};
        if (!id || ::fstat(directory->get(), &status) != 0) {
            continue;
        }
        ConversationView view{
            .conversation_id = *id,
            .modified = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec)};
        const Result<ConversationDirectory> conversation =
            ConversationDirectory::open(std::move(*directory));
        const auto entries = conversation
                                 ? conversation->walk()
                                 : Result<std::vector<StoredEntry>>(no_such_conversation());
        for (const StoredEntry& entry : entries ? *entries : std::vector<StoredEntry>{}) {
            view.bytes += entry.size;
            view.files += entry.directory ? 0 : 1;
            view.modified = std::max(view.modified, view_of(entry).modified);
        }
        views.push_back(std::move(view));
    }
    std::ranges::sort(views, [](const ConversationView& left, const ConversationView& right) {
        return std::tie(right.modified, left.conversation_id) <
               std::tie(left.modified, right.conversation_id);
    });
    return views;
}

Result<std::vector<FileView>> ConversationStore::files(const FileName& where) const {
    if (!where.path.empty()) {
        BJ_TRY_VOID(check_path(where.path));
    }
    BJ_TRY(const ConversationDirectory conversation, open_conversation(where));
    BJ_TRY(const std::vector<StoredEntry> entries, conversation.walk());
    std::vector<FileView> views;
    for (const StoredEntry& entry : entries) {
        const bool wanted = where.path.empty() || entry.path == where.path ||
                            entry.path.starts_with(where.path + "/");
        if (wanted && !entry.directory) {
            views.push_back(view_of(entry));
        }
    }
    return views;
}

Result<FileView> ConversationStore::find(const FileName& name, Digest digest) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(name));
    StoredEntry entry;
    BJ_TRY(const Fd file, conversation.open_file(name.path, entry));
    FileView view = view_of(entry);
    if (digest == Digest::Computed) {
        BJ_TRY(view.sha256, digest_of(file));
    }
    return view;
}

Result<FilePart> ConversationStore::read(const FileName& name, std::uint64_t offset,
                                         std::uint64_t length) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(name));
    StoredEntry entry;
    BJ_TRY(const Fd file, conversation.open_file(name.path, entry));
    FilePart part{.file = view_of(entry), .offset = offset};
    part.content.resize(std::min(length, entry.size - std::min(entry.size, offset)));
    std::size_t filled = 0;
    while (filled < part.content.size()) {
        const ssize_t count =
            ::pread(file.get(), part.content.data() + filled, part.content.size() - filled,
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

Result<ConversationStore::Written> ConversationStore::write(const FileName& name,
                                                            std::string_view content) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, make_conversation(name));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_.each, deadline()));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    BJ_TRY_VOID(
        changes.begin_file({.path = name.path, .modified = std::chrono::nanoseconds(now).count()}));
    if (!content.empty()) {
        BJ_TRY_VOID(changes.append(content));
    }
    BJ_TRY_VOID(changes.end_file());
    BJ_TRY(const std::vector<ConversationChanges::Done> done, changes.finish());
    if (!done.empty()) {
        return Written{.file = done.front().file, .kind = done.front().kind};
    }
    Result<FileView> same = find(name, Digest::Computed);
    if (!same) {
        return fail(ErrorCode::InvalidArgument,
                    "the file cannot be made: its name is that of a directory, or a part of its "
                    "path is that of a file");
    }
    return Written{.file = std::move(*same), .kind = execution::FileChange::Kind::Changed};
}

Result<void> ConversationStore::remove(const FileName& name) const {
    BJ_TRY_VOID(check_path(name.path));
    BJ_TRY(const ConversationDirectory conversation, open_conversation(name));
    BJ_TRY(ConversationChanges changes,
           ConversationChanges::begin(conversation, bounds_.each, deadline()));
    changes.remove(name.path);
    BJ_TRY(const std::vector<ConversationChanges::Done> done, changes.finish());
    return done.empty() ? fail(ErrorCode::NotFound, "there is no such file in this conversation")
                        : Result<void>{};
}

Result<void> ConversationStore::remove_conversation(const std::string& principal,
                                                    const std::string& conversation_id) const {
    const FileName of{.principal = principal, .conversation_id = conversation_id};
    BJ_TRY(const ConversationDirectory conversation, open_conversation(of));
    BJ_TRY(const Fd turn, conversation.take_turn());
    BJ_TRY(const Fd lock, conversation.lock(ConversationDirectory::Lock::Exclusive, deadline()));
    BJ_TRY(const Fd owner, open_principal(principal));
    const std::string temporary = std::string(kUnfinished) + random_hex(16);
    if (::renameat(owner.get(), crypto::sha256_hex(conversation_id).c_str(), owner.get(),
                   temporary.c_str()) != 0) {
        return no_such_conversation();
    }
    remove_directory(owner, temporary);
    return ::fsync(owner.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

}  // namespace belljar::storage
