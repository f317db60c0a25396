#include "storage/conversation_changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/beneath.h"
#include "base/id.h"
#include "jar/scratch.h"

namespace belljar::storage {
namespace {

using execution::FileChange;
using execution::FileCondition;

// Up to so many files are written out one by one, more by one call for the whole file system.
constexpr std::size_t kFewFiles = 32;
constexpr std::int64_t kNanosecondsOfSecond = 1'000'000'000;
constexpr Duration kPlacing = std::chrono::seconds(10);  // for the principal's lock

// What a program says of its file, as far as it can be.
std::int64_t possible_time(std::int64_t modified) {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return std::clamp<std::int64_t>(modified, 0, now.count());
}

Result<void> set_time(const Fd& file, std::int64_t modified) {
    const timespec time{.tv_sec = modified / kNanosecondsOfSecond,
                        .tv_nsec = modified % kNanosecondsOfSecond};
    const std::array<timespec, 2> times{time, time};
    return ::futimens(file.get(), times.data()) == 0 ? Result<void>{}
                                                     : fail(system_error("futimens"));
}

std::unexpected<Error> no_such_file() {
    return fail(ErrorCode::NotFound, "there is no such file in this conversation");
}

std::unexpected<Error> not_as_expected(std::string_view how) {
    return fail(ErrorCode::Precondition, fmt::format("the file {}", how));
}

bool is_below(std::string_view path, std::string_view directory) {
    return path.size() > directory.size() && path.starts_with(directory) &&
           path[directory.size()] == '/';
}

}  // namespace

// --- content

void ConversationChanges::Content::put(const StoredEntry& entry) {
    erase(entry.path);
    for (std::size_t end = entry.path.rfind('/'); end != std::string::npos && end > 0;
         end = entry.path.rfind('/', end - 1)) {
        const std::string parent = entry.path.substr(0, end);
        entries.emplace(parent, StoredEntry{.path = parent, .directory = true});
    }
    bytes += entry.size;
    entries[entry.path] = entry;
}

void ConversationChanges::Content::erase(const std::string& path) {
    const auto found = entries.find(path);
    if (found != entries.end()) {
        bytes -= found->second.size;
        entries.erase(found);
    }
}

std::vector<StoredEntry> ConversationChanges::Content::tree(const std::string& path) const {
    std::vector<StoredEntry> found;
    for (auto entry = entries.lower_bound(path);
         entry != entries.end() && entry->first.starts_with(path); ++entry) {
        if (entry->first == path || is_below(entry->first, path)) {
            found.push_back(entry->second);
        }
    }
    return found;
}

// Names of the path that are not there.
std::size_t ConversationChanges::Content::missing(const std::string& path) const {
    std::size_t more = 0;
    for (std::size_t end = path.size(); end != std::string::npos;
         end = end == 0 ? std::string::npos : path.rfind('/', end - 1)) {
        more += entries.contains(path.substr(0, end)) ? 0 : 1;
    }
    return more;
}

Tally ConversationChanges::Content::tally() const {
    const auto files =
        std::ranges::count_if(entries, [](const auto& entry) { return !entry.second.directory; });
    return {.bytes = bytes, .files = static_cast<std::uint64_t>(files), .entries = entries.size()};
}

// --- what is wanted

Result<ConversationChanges> ConversationChanges::begin(const ConversationDirectory& directory,
                                                       ConversationBounds bounds,
                                                       TimePoint deadline) {
    ConversationChanges changes(directory, bounds);
    changes.deadline_ = deadline;
    BJ_TRY(changes.lock_, directory.lock(ConversationDirectory::Lock::Exclusive, deadline));
    directory.clear_incoming();
    BJ_TRY(const std::vector<StoredEntry> entries, directory.walk());
    for (const StoredEntry& entry : entries) {
        changes.now_.bytes += entry.size;
        changes.now_.entries.emplace(entry.path, entry);
    }
    changes.then_ = changes.now_;
    if (directory.owner().valid()) {
        changes.others_ = tally_others(directory.owner(), directory.name());
    }
    return changes;
}

ConversationChanges::~ConversationChanges() {
    if (!lock_.valid()) {
        return;  // moved from
    }
    drop_file();
    for (const Pending& pending : pending_) {
        if (!pending.temporary.empty()) {
            ::unlinkat(directory_->incoming().get(), pending.temporary.c_str(), 0);
        }
    }
}

const StoredEntry* ConversationChanges::find(const std::string& path) const {
    const auto found = then_.entries.find(path);
    return found == then_.entries.end() ? nullptr : &found->second;
}

Result<void> ConversationChanges::check(const std::string& path,
                                        const FileCondition& condition) const {
    const StoredEntry* const entry = find(path);
    switch (condition.kind) {
        case FileCondition::Kind::None:
            return {};
        case FileCondition::Kind::Absent:
            return entry == nullptr ? Result<void>{} : not_as_expected("exists already");
        case FileCondition::Kind::Present:
            return entry != nullptr ? Result<void>{} : not_as_expected("does not exist");
        case FileCondition::Kind::Matches:
            break;
    }
    if (entry == nullptr || entry->directory) {
        return not_as_expected("does not exist");
    }
    if (view_of(*entry).revision == condition.tag) {
        return {};
    }
    StoredEntry found;
    const Result<Fd> file = directory_->open_file(path, found);
    const Result<std::string> digest = file ? digest_of(*file) : fail(file.error());
    return digest && *digest == condition.tag ? Result<void>{}
                                              : not_as_expected("has been changed meanwhile");
}

Result<void> ConversationChanges::check_room(const std::string& path, std::uint64_t size) const {
    if (!is_plain_path(path)) {
        return fail(ErrorCode::InvalidArgument,
                    "a path has to be relative and without \"..\", in at most 1024 bytes");
    }
    const std::size_t entries = then_.entries.size() + then_.missing(path);
    if (entries > bounds_.entries) {
        return fail(ErrorCode::QuotaReached,
                    fmt::format("a conversation can have at most {} files and directories; "
                                "delete some",
                                bounds_.entries));
    }
    const StoredEntry* const before = find(path);
    const std::uint64_t bytes = then_.bytes - (before == nullptr ? 0 : before->size) + size;
    if (bytes > bounds_.space.count) {
        return fail(ErrorCode::QuotaReached,
                    fmt::format("a conversation's files can have at most {} together; delete some",
                                format_bytes(bounds_.space)));
    }
    const bool grows = bytes > now_.bytes || entries > now_.entries.size();
    if (grows && (others_.bytes + bytes > bounds_.principal_space.count ||
                  others_.entries + entries > bounds_.principal_entries)) {
        return fail(ErrorCode::QuotaReached,
                    "all your conversations together have as many files, or as large ones, as they "
                    "may; delete some");
    }
    return {};
}

Result<void> ConversationChanges::make_directory(const std::string& path) {
    BJ_TRY_VOID(check_room(path, 0));
    StoredEntry entry{.path = path, .directory = true};
    then_.put(entry);
    pending_.push_back({.action = Pending::Action::MakeDirectory, .entry = std::move(entry)});
    return {};
}

Result<void> ConversationChanges::begin_file(const NewFile& file) {
    drop_file();
    BJ_TRY_VOID(check_room(file.path, 0));
    hash_ = crypto::Sha256();
    coming_ = {.entry = {.path = file.path,
                         .executable = file.executable,
                         .modified = possible_time(file.modified)},
               .temporary = random_hex(16)};
    Result<Fd> made = open_beneath(directory_->incoming(), coming_.temporary,
                                   O_WRONLY | O_CREAT | O_EXCL, file.executable ? 0700 : 0600);
    if (!made) {
        return fail(explain_storage(made.error()));
    }
    file_ = std::move(*made);
    return {};
}

Result<void> ConversationChanges::append(std::string_view data) {
    coming_.entry.size += data.size();
    if (Result<void> room = check_room(coming_.entry.path, coming_.entry.size); !room) {
        drop_file();
        return room;
    }
    hash_.add(data);
    Result<void> written = write_all(file_, data);
    return written ? written : fail(explain_storage(written.error()));
}

Result<void> ConversationChanges::end_file(std::string_view unwanted) {
    coming_.sha256 = hash_.finish();
    if (coming_.sha256 == unwanted) {
        drop_file();
        return {};
    }
    BJ_TRY_VOID(set_time(file_, coming_.entry.modified));
    file_.reset();
    coming_.replaces = find(coming_.entry.path) != nullptr;
    then_.put(coming_.entry);
    pending_.push_back(std::exchange(coming_, {}));
    return {};
}

void ConversationChanges::drop_file() {
    if (file_.valid()) {
        file_.reset();
        ::unlinkat(directory_->incoming().get(), coming_.temporary.c_str(), 0);
    }
}

Result<void> ConversationChanges::add_staged(const NewFile& file, StagedFile staged,
                                             std::string sha256) {
    struct stat status{};
    if (::fstat(staged.file().get(), &status) != 0) {
        return fail(system_error("fstat"));
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    BJ_TRY_VOID(check_room(file.path, size));
    if (::fchmod(staged.file().get(), file.executable ? 0700 : 0600) != 0) {
        return fail(system_error("fchmod"));
    }
    const std::int64_t modified = possible_time(file.modified);
    BJ_TRY_VOID(set_time(staged.file(), modified));
    Pending pending{.entry = {.path = file.path,
                              .executable = file.executable,
                              .size = size,
                              .modified = modified},
                    .temporary = staged.name(),
                    .sha256 = std::move(sha256),
                    .replaces = find(file.path) != nullptr};
    then_.put(pending.entry);
    pending_.push_back(std::move(pending));
    staged_.push_back(std::move(staged));
    return {};
}

void ConversationChanges::remove(const std::string& path) {
    const StoredEntry* const found = find(path);
    if (found != nullptr) {
        pending_.push_back({.action = Pending::Action::Remove, .entry = *found});
        then_.erase(path);
    }
}

Result<void> ConversationChanges::remove_tree(const std::string& path) {
    const StoredEntry* const found = find(path);
    if (found == nullptr) {
        return no_such_file();
    }
    pending_.push_back({.action = Pending::Action::RemoveTree, .entry = *found});
    for (const StoredEntry& entry : then_.tree(path)) {
        then_.erase(entry.path);
    }
    return {};
}

Result<void> ConversationChanges::move(const std::string& from, const std::string& to,
                                       execution::Existing existing) {
    const StoredEntry* const source = find(from);
    if (source == nullptr) {
        return no_such_file();
    }
    if (from == to || is_below(to, from)) {
        return fail(ErrorCode::InvalidArgument, "a file cannot be moved to or below itself");
    }
    const StoredEntry* const target = find(to);
    const bool replaceable = existing == execution::Existing::Replaced && !source->directory;
    if (target != nullptr && (!replaceable || target->directory)) {
        return fail(ErrorCode::Conflict, "there is something of that name already");
    }
    BJ_TRY_VOID(check_room(to, 0));
    const std::vector<StoredEntry> moved = then_.tree(from);
    for (const StoredEntry& entry : moved) {
        if (!is_plain_path(to + entry.path.substr(from.size()))) {
            return fail(ErrorCode::InvalidArgument, "the new path of a file would be too long");
        }
    }
    pending_.push_back({.action = Pending::Action::Move,
                        .entry = *source,
                        .replaces = target != nullptr,
                        .target = to});
    for (StoredEntry entry : moved) {
        then_.erase(entry.path);
        entry.path = to + entry.path.substr(from.size());
        then_.put(entry);
    }
    return {};
}

// --- how it comes about

// Whether the same content is there already.
bool ConversationChanges::is_same(const Pending& pending) const {
    StoredEntry entry;
    const Result<Fd> old = directory_->open_file(pending.entry.path, entry);
    if (!old || entry.size != pending.entry.size || entry.executable != pending.entry.executable) {
        return false;
    }
    const Result<std::string> digest = digest_of(*old);
    return digest && *digest == pending.sha256;
}

// Others of the same principal may have grown since this began.
bool ConversationChanges::is_too_much(const Pending& pending, const Tally& others) const {
    const auto before = now_.entries.find(pending.entry.path);
    const std::uint64_t replaced = before == now_.entries.end() ? 0 : before->second.size;
    const std::size_t more = now_.missing(pending.entry.path);
    const bool grows = pending.entry.size > replaced || more > 0;
    return grows && (others.bytes + now_.bytes - replaced + pending.entry.size >
                         bounds_.principal_space.count ||
                     others.entries + now_.entries.size() + more > bounds_.principal_entries);
}

bool ConversationChanges::are_too_much(const Tally& others) const {
    const bool larger = then_.bytes > now_.bytes;
    const bool more = then_.entries.size() > now_.entries.size();
    return (larger && others.bytes + then_.bytes > bounds_.principal_space.count) ||
           (more && others.entries + then_.entries.size() > bounds_.principal_entries);
}

Result<void> ConversationChanges::make_durable() const {
    if (many_) {
        return ::syncfs(directory_->incoming().get()) == 0 ? Result<void>{}
                                                           : fail(system_error("syncfs"));
    }
    for (const Pending& pending : pending_) {
        if (pending.action == Pending::Action::Place) {
            BJ_TRY(const Fd file,
                   open_beneath(directory_->incoming(), pending.temporary, O_RDONLY));
            BJ_TRY_VOID(synchronise(file));
        }
    }
    return {};
}

Result<void> ConversationChanges::place(const Pending& pending, int parent,
                                        const char* name) const {
    int failed = 0;
    switch (pending.action) {
        case Pending::Action::MakeDirectory:
            failed = ::mkdirat(parent, name, 0700) != 0 && errno != EEXIST ? 1 : 0;
            break;
        case Pending::Action::Place:
            failed =
                ::renameat(directory_->incoming().get(), pending.temporary.c_str(), parent, name);
            break;
        case Pending::Action::Remove:
            failed = ::unlinkat(parent, name, pending.entry.directory ? AT_REMOVEDIR : 0);
            break;
        case Pending::Action::RemoveTree: {
            const std::string aside = random_hex(16);
            failed = ::renameat(parent, name, directory_->incoming().get(), aside.c_str());
            break;
        }
        case Pending::Action::Move: {
            BJ_TRY(const Place target,
                   find_place(directory_->files(), pending.target, Parents::Made));
            failed = ::renameat2(parent, name, target.directory.get(), target.name.c_str(),
                                 pending.replaces ? 0 : RENAME_NOREPLACE);
            if (failed == 0) {
                BJ_TRY_VOID(synchronise(target.directory));
            }
            break;
        }
    }
    return failed == 0 ? Result<void>{} : fail(system_error("change a conversation's files"));
}

Result<void> ConversationChanges::apply(const Pending& pending) {
    const bool makes = pending.action == Pending::Action::MakeDirectory ||
                       pending.action == Pending::Action::Place;
    BJ_TRY(const Place where, find_place(directory_->files(), pending.entry.path,
                                         makes ? Parents::Made : Parents::Expected));
    BJ_TRY_VOID(place(pending, where.directory.get(), where.name.c_str()));
    if (many_) {
        return {};
    }
    BJ_TRY_VOID(synchronise(where.directory));
    return synchronise_new(pending.action == Pending::Action::Move ? pending.target
                                                                   : pending.entry.path);
}

// Directories that were made on the way are entries of others.
Result<void> ConversationChanges::synchronise_new(std::string path) const {
    while (true) {
        const std::size_t end = path.rfind('/');
        if (end == std::string::npos || now_.entries.contains(path.substr(0, end))) {
            return {};
        }
        path.resize(end);
        const std::size_t above = path.rfind('/');
        BJ_TRY(const Fd parent,
               open_beneath(directory_->files(),
                            above == std::string::npos ? "." : path.substr(0, above),
                            O_RDONLY | O_DIRECTORY));
        BJ_TRY_VOID(synchronise(parent));
    }
}

// Says what was done, and remembers what is there now.
void ConversationChanges::report(const Pending& pending, std::vector<Done>& done) {
    const std::string& path = pending.entry.path;
    const auto tell = [&](FileChange::Kind kind, const StoredEntry& entry) {
        if (!entry.directory) {
            done.push_back({.kind = kind,
                            .file = kind == FileChange::Kind::Deleted
                                        ? execution::FileView{.path = entry.path}
                                        : view_of(entry)});
        }
    };
    switch (pending.action) {
        case Pending::Action::MakeDirectory:
            now_.put(pending.entry);
            return;
        case Pending::Action::Place:
            tell(pending.replaces ? FileChange::Kind::Changed : FileChange::Kind::Created,
                 pending.entry);
            done.back().file.sha256 = pending.sha256;
            now_.put(pending.entry);
            return;
        case Pending::Action::Remove:
        case Pending::Action::RemoveTree:
            for (const StoredEntry& entry : now_.tree(path)) {
                tell(FileChange::Kind::Deleted, entry);
                now_.erase(entry.path);
            }
            return;
        case Pending::Action::Move:
            break;
    }
    for (StoredEntry entry : now_.tree(path)) {
        tell(FileChange::Kind::Deleted, entry);
        now_.erase(entry.path);
        entry.path = pending.target + entry.path.substr(path.size());
        tell(pending.replaces ? FileChange::Kind::Changed : FileChange::Kind::Created, entry);
        now_.put(entry);
    }
}

// Each that can be; of a disk that is full, what came before.
Result<void> ConversationChanges::place_each(const Tally& others, std::vector<Done>& done) {
    std::optional<Error> failure;
    for (const Pending& pending : std::exchange(pending_, {})) {
        const bool places = pending.action == Pending::Action::Place;
        const bool too_much = places && is_too_much(pending, others);
        if (too_much) {
            refused_.push_back(pending.entry.path);
        }
        if (too_much || (places && pending.replaces && is_same(pending))) {
            ::unlinkat(directory_->incoming().get(), pending.temporary.c_str(), 0);
            continue;
        }
        if (const Result<void> applied = apply(pending)) {
            report(pending, done);
        } else if (pending.action != Pending::Action::Remove || !pending.entry.directory) {
            // A directory that is still used stays.
            failure = explain_storage(applied.error());
            refused_.push_back(pending.entry.path);
            ::unlinkat(directory_->incoming().get(), pending.temporary.c_str(), 0);
        }
    }
    const bool acknowledged =
        !failure || (failure->code == ErrorCode::StorageFull && !done.empty());
    return acknowledged ? Result<void>{} : fail(*failure);
}

// What takes room in a directory comes first, because only that can be taken back.
Result<void> ConversationChanges::place_together(std::vector<Done>& done) {
    const std::vector<Pending> all = std::exchange(pending_, {});
    std::vector<const Pending*> placed;
    std::vector<const Pending*> replacing;
    Result<void> result;
    for (const Pending& pending : all) {
        BJ_ASSERT(pending.action == Pending::Action::Place);
        if (result) {
            result = make_parents(pending.entry.path);
        }
        if (!pending.replaces) {
            placed.push_back(&pending);
        } else if (!is_same(pending)) {
            replacing.push_back(&pending);
        }
    }
    placed.insert(placed.end(), replacing.begin(), replacing.end());
    auto next = placed.begin();
    for (; result && next != placed.end(); ++next) {
        result = apply(**next);
    }
    if (!result) {
        placed.erase(next, placed.end());
        take_back(all, placed);
        return fail(explain_storage(result.error()));
    }
    for (const Pending* pending : placed) {
        report(*pending, done);
    }
    return {};
}

Result<void> ConversationChanges::make_parents(const std::string& path) const {
    BJ_TRY_VOID(find_place(directory_->files(), path, Parents::Made));
    return {};
}

// New files, and then the directories that were made for any.
void ConversationChanges::take_back(const std::vector<Pending>& all,
                                    const std::vector<const Pending*>& placed) const {
    const auto remove = [this](const std::string& path, int flags) {
        if (const Result<Place> where = find_place(directory_->files(), path, Parents::Expected)) {
            ::unlinkat(where->directory.get(), where->name.c_str(), flags);
        }
    };
    for (const Pending* pending : placed) {
        if (!pending->replaces) {
            remove(pending->entry.path, 0);
        }
    }
    std::set<std::string, std::greater<>> made;  // what is in a directory comes before it
    for (const Pending& pending : all) {
        const std::string& path = pending.entry.path;
        for (std::size_t end = path.find('/'); end != std::string::npos;
             end = path.find('/', end + 1)) {
            if (!now_.entries.contains(path.substr(0, end))) {
                made.insert(path.substr(0, end));
            }
        }
    }
    for (const std::string& path : made) {
        remove(path, AT_REMOVEDIR);
    }
}

Result<std::vector<ConversationChanges::Done>> ConversationChanges::finish(Placing placing) {
    drop_file();
    many_ = pending_.size() > kFewFiles;
    if (const Result<void> durable = make_durable(); !durable) {
        return fail(explain_storage(durable.error()));
    }
    Fd principal;
    Tally others;
    if (directory_->owner().valid()) {
        BJ_TRY(principal,
               lock_principal(directory_->owner(), std::max(deadline_, Clock::now() + kPlacing)));
        others = tally_others(directory_->owner(), directory_->name());
        if (placing == Placing::AllOrNone && are_too_much(others)) {
            return fail(ErrorCode::QuotaReached,
                        "this is more than all conversations of one caller may have; delete some");
        }
        if (const Result<void> begun = begin_tally(directory_->fd()); !begun) {
            return fail(explain_storage(begun.error()));
        }
    }
    std::vector<Done> done;
    const Result<void> placed =
        placing == Placing::AllOrNone ? place_together(done) : place_each(others, done);
    if (many_ && ::syncfs(directory_->files().get()) != 0) {
        return fail(system_error("syncfs"));
    }
    directory_->clear_incoming();  // trees that were put aside
    // Without one, what is there is counted again.
    if (principal.valid() && (placed || placing == Placing::EachAlone)) {
        write_tally(directory_->fd(), now_.tally());
    }
    // Nothing is acknowledged that is not there.
    return placed ? Result<std::vector<Done>>(std::move(done)) : fail(placed.error());
}

}  // namespace belljar::storage
