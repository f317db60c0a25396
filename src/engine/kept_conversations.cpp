#include "engine/kept_conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/readiness.h"
#include "engine/masking.h"

namespace belljar::engine {
namespace {

using execution::ConversationView;
using execution::FileChange;
using execution::FileName;
using execution::FilePart;
using execution::FileView;

constexpr std::size_t kThreads = 8;       // twice what one principal has at a time
constexpr std::size_t kMostWaiting = 64;  // runs for one conversation
// Shorter than the warden's patience with an init that sends files.
constexpr Duration kTransferTime = std::chrono::seconds(25);
constexpr Duration kTurnPause = std::chrono::milliseconds(20);

std::string_view name_of(FileChange::Kind kind) {
    switch (kind) {
        case FileChange::Kind::Created:
            return "created";
        case FileChange::Kind::Changed:
            return "changed";
        case FileChange::Kind::Deleted:
            break;
    }
    return "deleted";
}

std::string_view words_for(jar::LeftReason reason) {
    switch (reason) {
        case jar::LeftReason::Link:
            return "a symbolic link";
        case jar::LeftReason::Special:
            return "a pipe, socket or device";
        case jar::LeftReason::Name:
            return "a name that is too long, too deep or no text";
        case jar::LeftReason::TooMany:
        case jar::LeftReason::TooLarge:
            return "more than the conversation may have";
        case jar::LeftReason::Unreadable:
            return "cannot be read";
        case jar::LeftReason::NoRoom:
        case jar::LeftReason::None:
            break;
    }
    return "no room";
}

execution::Denial describe(const TakenFiles& taken) {
    constexpr std::size_t kShown = 5;
    std::string what = fmt::format("left {} in /workspace that the conversation does not keep",
                                   taken.left_count == 1 ? "something" : "things");
    for (std::size_t index = 0; index < std::min(kShown, taken.left.size()); ++index) {
        what += fmt::format("{} \"{}\" ({})", index == 0 ? ":" : ",", taken.left[index].path,
                            words_for(taken.left[index].reason));
    }
    if (taken.left_count > kShown) {
        what += fmt::format(" and {} more", taken.left_count - kShown);
    }
    return {.what = std::move(what),
            .rule = "conversation.files",
            .hint =
                "Only regular files and directories outlive a run, within the conversation's "
                "quota."};
}

// Whoever runs later finds the files as they are now.
execution::Denial incomplete() {
    return {.what = "ended before all its files could be taken back",
            .rule = "conversation.incomplete",
            .hint =
                "What is listed in \"files\" is kept; look at the others before relying on "
                "them."};
}

}  // namespace

void report_files(const Stay& stay, const std::optional<TakenFiles>& taken,
                  execution::RunResult& result) {
    result.conversation_id = stay.conversation_id();
    if (!taken || !taken->whole) {
        result.denials.push_back(incomplete());
    }
    if (!taken) {
        return;
    }
    result.file_access = taken->access;
    for (const storage::ConversationChanges::Done& done : taken->changes) {
        result.files.push_back(
            {.name = done.file.path,
             .change = std::string(name_of(done.kind)),
             .size = done.file.size,
             .mime = done.file.mime,
             .sha256 = done.file.sha256,
             .url = done.kind == FileChange::Kind::Deleted ? "" : stay.url_of(done.file.path),
             .uri = file_uri(stay.conversation_id(), done.file.path)});
    }
    if (taken->left_count > 0) {
        result.denials.push_back(describe(*taken));
    }
}

std::string Stay::url_of(const std::string& path) const {
    return conversations_.url_of(
        {.principal = of_.principal, .conversation_id = of_.conversation_id, .path = path});
}

// --- a stay

Stay::Stay(KeptConversations& conversations, FileName of, storage::ConversationDirectory directory)
    : conversations_(conversations),
      of_(std::move(of)),
      directory_(std::make_shared<const storage::ConversationDirectory>(std::move(directory))) {}

Stay::~Stay() {
    turn_.reset();
    conversations_.leave({of_.principal, of_.conversation_id});
}

Task<Result<void>> Stay::give(std::shared_ptr<FileChannel> channel) {
    const TimePoint deadline = Clock::now() + kTransferTime;
    BJ_CO_TRY(const FileQueue::PlacePtr place,
              co_await conversations_.file_queue_->enter(of_, FileQueue::Kind::Transfer, deadline));
    Result<void> given = co_await conversations_.run_threads_.run(
        [channel, deadline, directory = directory_,
         bounds = conversations_.store_.bounds_of(of_.principal)] {
            return give_files(*channel, *directory, bounds, deadline);
        });
    co_return given;
}

Task<std::optional<TakenFiles>> Stay::take_at_end(std::shared_ptr<FileChannel> channel,
                                                  std::optional<ProgramFile> program,
                                                  TimePoint give_up) {
    using asio::experimental::awaitable_operators::operator||;
    Result<Readiness> readiness = Readiness::create(conversations_.executor_, channel->socket);
    if (!readiness) {
        co_return std::nullopt;
    }
    asio::steady_timer deadline(conversations_.executor_, give_up);
    boost::system::error_code ignored;
    [[maybe_unused]] const auto first =
        co_await (readiness->wait() ||
                  deadline.async_wait(asio::redirect_error(asio::use_awaitable, ignored)));
    std::optional<TakenFiles> taken = co_await take(channel, std::move(program));
    co_return taken;
}

Task<std::optional<TakenFiles>> Stay::take_now(std::shared_ptr<FileChannel> channel) {
    const Result<void> asked = ask_for_files(*channel, Clock::now() + kTransferTime);
    if (!asked) {
        co_return std::nullopt;
    }
    std::optional<TakenFiles> taken = co_await take(channel, std::nullopt);
    co_return taken;
}

Task<std::optional<TakenFiles>> Stay::take(std::shared_ptr<FileChannel> channel,
                                           std::optional<ProgramFile> program) {
    Result<TakenFiles> taken = co_await take_in_turn(std::move(channel), std::move(program));
    if (!taken) {
        conversations_.log_.error("the files of a run could not be kept",
                                  {{"reason", taken.error().describe()}});
        co_return std::nullopt;
    }
    for (const storage::ConversationChanges::Done& done : taken->changes) {
        FileName name = of_;
        name.path = done.file.path;
        conversations_.tell({.file = std::move(name), .kind = done.kind});
    }
    co_return std::move(*taken);
}

Task<Result<TakenFiles>> Stay::take_in_turn(std::shared_ptr<FileChannel> channel,
                                            std::optional<ProgramFile> program) {
    const TimePoint deadline = Clock::now() + kTransferTime;
    BJ_CO_TRY(const FileQueue::PlacePtr place,
              co_await conversations_.file_queue_->enter(of_, FileQueue::Kind::Transfer, deadline));
    Result<TakenFiles> taken = co_await conversations_.run_threads_.run(
        [channel, deadline, program = std::move(program), directory = directory_,
         bounds = conversations_.store_.bounds_of(of_.principal)] {
            return take_files(*channel, *directory, bounds, program, deadline);
        });
    co_return taken;
}

// --- conversations

KeptConversations::KeptConversations(const asio::any_io_executor& executor,
                                     const storage::ConversationStore& store, const Log& log)
    : executor_(executor),
      store_(store),
      log_(log),
      file_queue_(std::make_shared<FileQueue>(executor, FileQueue::Bounds{.served = kThreads / 2})),
      request_threads_(kThreads),
      run_threads_(kThreads),
      sweep_later_(executor) {}

Task<Result<std::vector<ConversationView>>> KeptConversations::list_conversations(
    std::string principal) {
    Result<std::vector<ConversationView>> views =
        co_await serve({.principal = principal}, FileQueue::Kind::Look,
                       [this, principal] { return store_.list(principal); });
    co_return views;
}

Task<Result<std::vector<FileView>>> KeptConversations::list_files(FileName where) {
    BJ_CO_TRY_VOID(check(where));
    Result<std::vector<FileView>> views =
        co_await serve(where, FileQueue::Kind::Look, [this, where] { return store_.files(where); });
    co_return views;
}

Task<Result<FileView>> KeptConversations::find_file(FileName name, execution::Digest digest) {
    BJ_CO_TRY_VOID(check(name));
    Result<FileView> view = co_await serve(
        name, FileQueue::Kind::Look, [this, digest, name] { return store_.find(name, digest); });
    co_return view;
}

Task<Result<FilePart>> KeptConversations::read_file(FileName name, ByteRange range) {
    range.length = std::min(range.length, kMostRead);
    BJ_CO_TRY_VOID(check(name));
    Result<FilePart> part = co_await serve(name, FileQueue::Kind::Look, [this, range, name] {
        return masked_.none() ? store_.read(name, range.offset, range.length)
                              : read_masked(name, range);
    });
    co_return part;
}

Task<Result<FilePart>> KeptConversations::read_for_run(FileName name, ByteRange range) {
    range.length = std::min(range.length, kMostRead);
    BJ_CO_TRY_VOID(check(name));
    Result<FilePart> part = co_await serve(name, FileQueue::Kind::Look, [this, range, name] {
        return store_.read(name, range.offset, range.length);
    });
    co_return part;
}

// With what is around it, which says whether something in it is masked.
Result<FilePart> KeptConversations::read_masked(const FileName& name, ByteRange range) const {
    const std::uint64_t skipped = std::min(range.offset, kAroundPart);
    BJ_TRY(FilePart part,
           store_.read(name, range.offset - skipped, skipped + range.length + kAroundPart));
    mask_part(masked_, part);
    part.content.erase(0, std::min<std::uint64_t>(skipped, part.content.size()));
    part.content.resize(std::min<std::uint64_t>(range.length, part.content.size()));
    part.offset = range.offset;
    return part;
}

Task<Result<FileView>> KeptConversations::write_file(FileName name, std::string content) {
    BJ_CO_TRY_VOID(check(name));
    Result<storage::ConversationStore::Written> written = co_await serve(
        name, FileQueue::Kind::Change,
        [this, name, content = std::move(content)] { return store_.write(name, content); });
    BJ_CO_TRY_VOID(written);
    tell({.file = std::move(name), .kind = written->kind});
    co_return std::move(written->file);
}

Task<Result<void>> KeptConversations::delete_file(FileName name) {
    BJ_CO_TRY_VOID(check(name));
    Result<void> removed =
        co_await serve(name, FileQueue::Kind::Change, [this, name] { return store_.remove(name); });
    if (removed) {
        tell({.file = std::move(name), .kind = FileChange::Kind::Deleted});
    }
    co_return removed;
}

Task<Result<void>> KeptConversations::delete_conversation(std::string principal,
                                                          std::string conversation_id) {
    const FileName of{.principal = principal, .conversation_id = conversation_id};
    BJ_CO_TRY_VOID(check(of));
    Result<std::vector<FileView>> gone =
        co_await serve(of, FileQueue::Kind::Change, [this, of]() -> Result<std::vector<FileView>> {
            Result<std::vector<FileView>> files = store_.files(of);
            BJ_TRY_VOID(store_.remove_conversation(of.principal, of.conversation_id));
            return files ? std::move(files) : std::vector<FileView>{};
        });
    BJ_CO_TRY_VOID(gone);
    for (const FileView& file : *gone) {
        FileName name = of;
        name.path = file.path;
        tell({.file = std::move(name), .kind = FileChange::Kind::Deleted});
    }
    co_return Result<void>{};
}

Task<Result<std::vector<PutFile>>> KeptConversations::import_files(FileImport import) {
    BJ_CO_TRY_VOID(check(import.where));
    using Done = storage::ConversationChanges::Done;
    const FileName of{.principal = import.where.principal,
                      .conversation_id = import.where.conversation_id};
    Result<std::vector<Done>> done = co_await serve(
        of, FileQueue::Kind::Change,
        [this, of, import = std::move(import)] -> Result<std::vector<Done>> {
            BJ_TRY(const storage::ConversationDirectory directory, store_.make_conversation(of));
            Result<std::vector<Done>> imported = storage::import_files(
                directory, store_.bounds_of(of.principal), Clock::now() + store_.bounds().patience,
                {.directory = import.where.path,
                 .files = import.files,
                 .existing = import.existing});
            directory.touch();
            return imported;
        });
    BJ_CO_TRY_VOID(done);
    std::vector<PutFile> put;
    for (Done& one : *done) {
        FileName name = of;
        name.path = one.file.path;
        tell({.file = std::move(name), .kind = one.kind});
        put.push_back({.file = std::move(one.file), .kind = one.kind});
    }
    co_return put;
}

Result<void> KeptConversations::check(const FileName& name) const {
    return guard_.check ? guard_.check(name) : Result<void>{};
}

std::string KeptConversations::url_of(const FileName& name) const {
    return signer_ == nullptr
               ? ""
               : signer_->issue({.file = name}, std::chrono::system_clock::now()).url;
}

Conversations::Watch KeptConversations::watch(Watcher watcher) {
    std::erase_if(watchers_, [](const std::weak_ptr<Watcher>& other) { return other.expired(); });
    auto watch = std::make_shared<Watcher>(std::move(watcher));
    watchers_.push_back(watch);
    return watch;
}

// A watcher may begin or end another watch.
void KeptConversations::tell(const FileChange& change) {
    const std::vector<std::weak_ptr<Watcher>> watchers = watchers_;
    for (const std::weak_ptr<Watcher>& watcher : watchers) {
        if (const Watch held = watcher.lock(); held && *held) {
            (*held)(change);
        }
    }
}

Task<Result<StayPtr>> KeptConversations::enter(FileName of, TimePoint deadline,
                                               CancellationPtr cancellation) {
    BJ_CO_TRY_VOID(check(of));
    const Key key{of.principal, of.conversation_id};
    BJ_CO_TRY_VOID(storage::check_conversation_id(of.conversation_id));
    BJ_CO_TRY_VOID(co_await queue(key, deadline, cancellation));
    Result<storage::ConversationDirectory> directory = co_await open_for_run(of, deadline);
    if (!directory) {
        leave(key);
        co_return fail(directory.error());
    }
    auto stay = std::make_shared<Stay>(*this, std::move(of), std::move(*directory));
    BJ_CO_TRY_VOID(co_await take_turn(stay, deadline, std::move(cancellation)));
    co_return stay;
}

Task<Result<storage::ConversationDirectory>> KeptConversations::open_for_run(FileName of,
                                                                             TimePoint deadline) {
    BJ_CO_TRY(const FileQueue::PlacePtr place,
              co_await file_queue_->enter(of, FileQueue::Kind::Arrival, deadline));
    Result<storage::ConversationDirectory> directory =
        co_await run_threads_.run([this, of]() -> Result<storage::ConversationDirectory> {
            BJ_TRY(storage::ConversationDirectory made, store_.make_conversation(of));
            made.touch();
            return made;
        });
    co_return directory;
}

Task<Result<void>> KeptConversations::queue(Key key, TimePoint deadline,
                                            CancellationPtr cancellation) {
    Lane& lane = lanes_[key];  // stays where it is as long as somebody has it or waits
    if (lane.waiting.size() >= kMostWaiting) {
        co_return fail(ErrorCode::Overloaded, "too many runs of this conversation are waiting");
    }
    if (!lane.busy) {
        lane.busy = true;
        co_return Result<void>{};
    }
    asio::steady_timer wait(executor_, deadline);
    lane.waiting.push_back(&wait);
    cancellation->on_request([&wait] { wait.cancel(); });
    boost::system::error_code ignored;
    if (!cancellation->requested()) {  // or there is nobody left to end the wait
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    cancellation->on_request(nullptr);
    // Who is no longer in the list has been given the turn.
    if (std::erase(lane.waiting, &wait) == 0) {
        co_return Result<void>{};
    }
    co_return cancellation->requested()
        ? fail(ErrorCode::Cancelled, "cancelled while it waited")
        : fail(ErrorCode::Conflict, "another run has the conversation's files; wait for its end");
}

void KeptConversations::leave(const Key& key) {
    Lane& lane = lanes_[key];
    if (lane.waiting.empty()) {
        lanes_.erase(key);
        return;
    }
    asio::steady_timer* const next = lane.waiting.front();
    lane.waiting.pop_front();
    next->cancel();
}

// Another process has no queue with us: it is asked again and again.
Task<Result<void>> KeptConversations::take_turn(StayPtr stay, TimePoint deadline,
                                                CancellationPtr cancellation) {
    while (true) {
        Result<Fd> turn = stay->directory_->take_turn();
        if (turn) {
            stay->turn_ = std::move(*turn);
            co_return Result<void>{};
        }
        if (turn.error().code != ErrorCode::Conflict || Clock::now() >= deadline) {
            co_return fail(turn.error());
        }
        asio::steady_timer pause(executor_, kTurnPause);
        boost::system::error_code ignored;
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        if (cancellation->requested()) {
            co_return fail(ErrorCode::Cancelled, "cancelled while it waited");
        }
    }
}

}  // namespace belljar::engine
