#include "storage/conversation_store.h"

#include <fcntl.h>
#include <fmt/format.h>
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
#include "storage/directory_names.h"
#include "storage/tally.h"

namespace belljar::storage {
namespace {

using execution::ConversationView;
using execution::FileName;

constexpr const char* kDirectory = "conversations";
constexpr const char* kAboutFile = "about.json";
constexpr std::string_view kUnfinished = "unfinished-";
constexpr Bytes kLargestAbout = kibibytes(64);
constexpr int kOpenConversation = O_RDONLY | O_DIRECTORY;
constexpr std::size_t kMostConversations = 1000;

std::unexpected<Error> no_such_conversation() {
    return fail(ErrorCode::NotFound, "there is no such conversation");
}

// Whatever is in it: a conversation that was never finished, or one that somebody removes.
void remove_directory(const Fd& parent, const std::string& name) {
    if (const Result<Fd> directory = open_beneath(parent, name, kOpenConversation)) {
        [[maybe_unused]] const Result<void> emptied = jar::remove_content(*directory);
    }
    ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

Result<void> write_about(const Fd& directory, const FileName& of) {
    const json::value about{{"conversation_id", of.conversation_id}, {"principal", of.principal}};
    BJ_TRY(const Fd file, open_beneath(directory, kAboutFile, O_WRONLY | O_CREAT | O_EXCL, 0600));
    BJ_TRY_VOID(write_all(file, to_text(about)));
    return ::fsync(file.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

// Nothing if it is not whole.
std::optional<FileName> read_about(const Fd& directory) {
    const Result<Fd> file = open_beneath(directory, kAboutFile, O_RDONLY);
    const Result<std::string> text = file ? read_all(*file, kLargestAbout) : fail(file.error());
    const Result<json::value> about = text ? parse_json(*text) : fail(text.error());
    if (!about || !about->is_object()) {
        return std::nullopt;
    }
    const json::value* const id = about->get_object().if_contains("conversation_id");
    const json::value* const principal = about->get_object().if_contains("principal");
    if (id == nullptr || !id->is_string() || principal == nullptr || !principal->is_string()) {
        return std::nullopt;
    }
    return FileName{.principal = std::string(principal->get_string()),
                    .conversation_id = std::string(id->get_string())};
}

// Only now can it be seen: under its name, with everything that belongs to it.
Result<void> make_private(const Fd& parent, const std::string& name, const FileName& of) {
    const std::string temporary = std::string(kUnfinished) + random_hex(16);
    if (::mkdirat(parent.get(), temporary.c_str(), 0700) != 0) {
        return fail(system_error("mkdirat"));
    }
    BJ_TRY(const Fd directory, open_beneath(parent, temporary, kOpenConversation));
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
    BJ_TRY(Fd directory, open_beneath(data_directory, kDirectory, kOpenConversation));
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
    const bool just_made = status.st_uid == ::geteuid() && names_in(directory_).empty();
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
    Result<Fd> directory =
        open_beneath(directory_, crypto::sha256_hex(principal), kOpenConversation);
    if (!directory && directory.error().sys_errno == ENOENT) {
        return no_such_conversation();
    }
    return directory;
}

Result<ConversationDirectory> ConversationStore::open_conversation(const FileName& of) const {
    BJ_TRY_VOID(check_conversation_id(of.conversation_id));
    BJ_TRY(Fd principal, open_principal(of.principal));
    Result<Fd> directory =
        open_beneath(principal, crypto::sha256_hex(of.conversation_id), kOpenConversation);
    if (!directory && directory.error().sys_errno == ENOENT) {
        return no_such_conversation();
    }
    if (!directory) {
        return fail(directory.error());
    }
    return ConversationDirectory::open(std::move(*directory), std::move(principal),
                                       crypto::sha256_hex(of.conversation_id));
}

Result<ConversationDirectory> ConversationStore::make_conversation(const FileName& of) const {
    Result<ConversationDirectory> found = open_conversation(of);
    if (found || found.error().code != ErrorCode::NotFound) {
        return found;
    }
    const std::string owner = crypto::sha256_hex(of.principal);
    if (::mkdirat(directory_.get(), owner.c_str(), 0700) == 0) {
        BJ_TRY_VOID(synchronise(directory_));
    } else if (errno != EEXIST) {
        return fail(explain_storage(system_error("mkdirat")));
    }
    // One at a time, so that they can be counted.
    BJ_TRY(const Fd outside, open_principal(of.principal));
    BJ_TRY(const Fd principal, lock_principal(outside, deadline()));
    found = open_conversation(of);
    if (found || found.error().code != ErrorCode::NotFound) {
        return found;  // somebody else has made it meanwhile
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
    const Result<void> made = make_private(principal, crypto::sha256_hex(of.conversation_id), of);
    if (!made && made.error().sys_errno != EEXIST && made.error().sys_errno != ENOTEMPTY) {
        return fail(explain_storage(made.error()));
    }
    return open_conversation(of);
}

Result<std::vector<ConversationView>> ConversationStore::list(const std::string& principal) const {
    std::vector<ConversationView> views;
    for (const Found& found : find_all(principal)) {
        views.push_back(view_of(found));
    }
    std::ranges::sort(views, [](const ConversationView& left, const ConversationView& right) {
        return std::tie(right.modified, left.conversation_id) <
               std::tie(left.modified, right.conversation_id);
    });
    return views;
}

std::vector<ConversationStore::Found> ConversationStore::find_all(
    const std::optional<std::string>& principal) const {
    std::vector<Found> all;
    for (const std::string& owner_name : names_in(directory_)) {
        if (!is_hash(owner_name) || (principal && owner_name != crypto::sha256_hex(*principal))) {
            continue;
        }
        const Result<Fd> owner = open_beneath(directory_, owner_name, kOpenConversation);
        for (const std::string& name : owner ? names_in(*owner) : std::vector<std::string>{}) {
            Result<Fd> directory = is_hash(name) ? open_beneath(*owner, name, kOpenConversation)
                                                 : Result<Fd>(no_such_conversation());
            std::optional<FileName> of = directory ? read_about(*directory) : std::nullopt;
            Result<Fd> above = open_beneath(*owner, ".", kOpenConversation);
            Result<ConversationDirectory> opened =
                of && above
                    ? ConversationDirectory::open(std::move(*directory), std::move(*above), name)
                    : Result<ConversationDirectory>(no_such_conversation());
            if (opened) {
                all.push_back({.of = std::move(*of), .directory = std::move(*opened)});
            }
        }
    }
    return all;
}

ConversationView ConversationStore::view_of(const Found& found) {
    struct stat status{};
    ::fstat(found.directory.fd().get(), &status);
    ConversationView view{.conversation_id = found.of.conversation_id,
                          .modified = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec),
                          .principal = found.of.principal,
                          .created = found.directory.created(),
                          .last_used = found.directory.last_used()};
    const auto entries = found.directory.walk();
    for (const StoredEntry& entry : entries ? *entries : std::vector<StoredEntry>{}) {
        view.bytes += entry.size;
        view.files += entry.directory ? 0 : 1;
        view.modified = std::max(view.modified, storage::view_of(entry).modified);
    }
    return view;
}

Result<execution::ConversationPage> ConversationStore::page(
    const std::optional<std::string>& principal, const execution::PageQuery& query) const {
    std::vector<Found> all = find_all(principal);
    const auto cursor_of = [](const Found& found) {
        return crypto::sha256_hex(found.of.principal) + found.directory.name();
    };
    std::ranges::sort(all, {}, cursor_of);
    execution::ConversationPage page;
    const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, kMostConversations);
    for (const Found& found : all) {
        if (!query.after.empty() && cursor_of(found) <= query.after) {
            continue;
        }
        if (page.conversations.size() == limit) {
            page.next = crypto::sha256_hex(page.conversations.back().principal) +
                        crypto::sha256_hex(page.conversations.back().conversation_id);
            break;
        }
        page.conversations.push_back(view_of(found));
    }
    return page;
}

Result<ConversationView> ConversationStore::find_conversation(const FileName& of) const {
    BJ_TRY(ConversationDirectory directory, open_conversation(of));
    return view_of({.of = of, .directory = std::move(directory)});
}

Result<ConversationStore::Made> ConversationStore::create(const FileName& of) const {
    const Result<ConversationView> found = find_conversation(of);
    if (found || found.error().code != ErrorCode::NotFound) {
        return found ? Result<Made>(Made{.view = *found}) : fail(found.error());
    }
    BJ_TRY_VOID(make_conversation(of));
    BJ_TRY(ConversationView view, find_conversation(of));
    return Made{.view = std::move(view), .created = true};
}

ConversationBounds ConversationStore::bounds_of(const std::string& principal) const {
    ConversationBounds bounds = bounds_.each;
    if (const auto own = space_of_ ? space_of_(principal) : std::nullopt) {
        bounds.principal_space =
            own->count > 0 ? *own : Bytes{std::numeric_limits<std::uint64_t>::max()};
    }
    return bounds;
}

Result<execution::StorageUsage> ConversationStore::usage(const FileName& of) const {
    execution::StorageUsage usage{.most_bytes = bounds_.each.space.count,
                                  .most_entries = bounds_.each.entries};
    if (!of.conversation_id.empty()) {
        BJ_TRY(const ConversationDirectory conversation, open_conversation(of));
        BJ_TRY(const Tally tally, count_files(conversation.fd()));
        usage.bytes = tally.bytes;
        usage.entries = tally.entries;
        return usage;
    }
    usage.most_bytes = bounds_of(of.principal).principal_space.count;
    usage.most_entries = bounds_.each.principal_entries;
    usage.most_conversations = bounds_.conversations;
    const Result<Fd> owner = open_principal(of.principal);
    if (!owner) {
        return usage;
    }
    const Tally tally = tally_others(*owner, "");
    usage.bytes = tally.bytes;
    usage.entries = tally.entries;
    for (const std::string& name : names_in(*owner)) {
        usage.conversations += is_hash(name) ? 1 : 0;
    }
    return usage;
}

void ConversationStore::recover() const {
    for (const std::string& owner_name : names_in(directory_)) {
        const Result<Fd> owner = is_hash(owner_name)
                                     ? open_beneath(directory_, owner_name, kOpenConversation)
                                     : Result<Fd>(no_such_conversation());
        const Result<Fd> held = owner ? lock_principal(*owner, deadline()) : fail(owner.error());
        for (const std::string& name : held ? names_in(*owner) : std::vector<std::string>{}) {
            if (name.starts_with(kUnfinished)) {
                remove_directory(*owner, name);
            }
        }
    }
    for (const Found& found : find_all(std::nullopt)) {
        // Who has the lock clears it as well; it is held until that is done, because a run's files
        // come in by the same way.
        const Result<Fd> held =
            found.directory.lock(ConversationDirectory::Lock::Exclusive, Clock::now());
        if (held) {
            found.directory.clear_incoming();
        }
    }
}

Result<void> ConversationStore::remove_conversation(const std::string& principal,
                                                    const std::string& conversation_id) const {
    const FileName of{.principal = principal, .conversation_id = conversation_id};
    BJ_TRY(const ConversationDirectory conversation, open_conversation(of));
    BJ_TRY(const Fd turn, conversation.take_turn());
    BJ_TRY(const Fd lock, conversation.lock(ConversationDirectory::Lock::Exclusive, deadline()));
    return take_away(of);
}

// Who has it open finds nothing in it any more.
Result<void> ConversationStore::take_away(const FileName& of) const {
    BJ_TRY(const Fd owner, open_principal(of.principal));
    const std::string temporary = std::string(kUnfinished) + random_hex(16);
    if (::renameat(owner.get(), crypto::sha256_hex(of.conversation_id).c_str(), owner.get(),
                   temporary.c_str()) != 0) {
        return no_such_conversation();
    }
    remove_directory(owner, temporary);
    return ::fsync(owner.get()) == 0 ? Result<void>{} : fail(system_error("fsync"));
}

}  // namespace belljar::storage
