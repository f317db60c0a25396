#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/kept_conversations.h"

// What KeptConversations does for callers that see conversations and files as a whole.
namespace belljar::engine {
namespace {

using execution::CleanupOrder;
using execution::CleanupReport;
using execution::FileChange;
using execution::FileName;
using execution::FileView;
using storage::ConversationStore;

constexpr Duration kSweepPause = std::chrono::minutes(10);

// Text is written to where it will stay, like everything else.
Result<storage::StagedFile> staged_content(const ConversationStore& store, FilePut& put) {
    if (auto* staged = std::get_if<storage::StagedFile>(&put.content)) {
        return std::move(*staged);
    }
    if (const Fd* file = std::get_if<Fd>(&put.content)) {
        return store.stage_copy(put.name, *file);
    }
    BJ_TRY(storage::StagedFile staged, store.stage(put.name));
    const auto& text = std::get<std::string>(put.content);
    const Result<void> filled = text.empty() ? Result<void>{} : write_all(staged.file(), text);
    if (!filled) {
        return fail(storage::explain_storage(filled.error()));
    }
    return staged;
}

struct Moved {
    std::vector<storage::ConversationChanges::Done> changes{};
    FileView view{};  // under its new name
};

Result<Moved> move_in_store(const ConversationStore& store, const execution::FileMove& move) {
    Moved moved;
    BJ_TRY(moved.changes, store.move(move));
    FileName name = move.from;
    name.path = move.to;
    const Result<FileView> view = store.find(name, execution::Digest::Omitted);
    moved.view = view ? *view : FileView{.path = move.to, .directory = true};
    return moved;
}

bool does_something(const CleanupOrder& order) {
    return order.idle || order.age || order.total_bytes;
}

// Runs come first. Of this thread alone, and for as long as this lives.
class LowPriority {
   public:
    LowPriority() { set(kIdle << kClassShift); }
    LowPriority(const LowPriority&) = delete;
    LowPriority& operator=(const LowPriority&) = delete;
    ~LowPriority() { set(0); }

   private:
    static constexpr int kIdle = 3;  // IOPRIO_CLASS_IDLE, which has no header in the C library
    static constexpr int kClassShift = 13;
    static void set(int priority) {
        constexpr int kProcess = 1;  // IOPRIO_WHO_PROCESS; 0 is the calling thread
        ::syscall(SYS_ioprio_set, kProcess, 0, priority);
    }
};

}  // namespace

Task<Result<MadeConversation>> KeptConversations::create_conversation(std::string principal,
                                                                      std::string conversation_id) {
    const FileName of{.principal = std::move(principal),
                      .conversation_id = std::move(conversation_id)};
    Result<ConversationStore::Made> made =
        co_await serve(of, FileQueue::Kind::Look, [this, of] { return store_.create(of); });
    BJ_CO_TRY_VOID(made);
    co_return MadeConversation{.view = std::move(made->view), .created = made->created};
}

Task<Result<execution::ConversationView>> KeptConversations::find_conversation(
    std::string principal, std::string conversation_id) {
    const FileName of{.principal = std::move(principal),
                      .conversation_id = std::move(conversation_id)};
    Result<execution::ConversationView> view = co_await serve(
        of, FileQueue::Kind::Look, [this, of] { return store_.find_conversation(of); });
    co_return view;
}

Task<Result<execution::ConversationPage>> KeptConversations::page_conversations(
    std::optional<std::string> principal, execution::PageQuery page) {
    Result<execution::ConversationPage> found = co_await serve(
        {.principal = principal.value_or("")}, FileQueue::Kind::Look,
        [this, principal, page = std::move(page)] { return store_.page(principal, page); });
    co_return found;
}

Task<Result<execution::StorageUsage>> KeptConversations::usage(std::string principal,
                                                               std::string conversation_id) {
    const FileName of{.principal = std::move(principal),
                      .conversation_id = std::move(conversation_id)};
    Result<execution::StorageUsage> used =
        co_await serve(of, FileQueue::Kind::Look, [this, of] { return store_.usage(of); });
    co_return used;
}

Task<Result<execution::FilePage>> KeptConversations::page_files(execution::FileQuery query) {
    BJ_CO_TRY_VOID(check(query.where));
    const FileName where = query.where;
    Result<execution::FilePage> page =
        co_await serve(where, FileQueue::Kind::Look,
                       [this, query = std::move(query)] { return store_.page_files(query); });
    co_return page;
}

Task<Result<OpenFile>> KeptConversations::open_file(FileName name, execution::Digest digest) {
    BJ_CO_TRY_VOID(check(name));
    Result<ConversationStore::Opened> opened =
        co_await serve(name, FileQueue::Kind::Look,
                       [this, name, digest] { return store_.open_file(name, digest); });
    if (!opened) {
        co_return fail(opened.error());
    }
    co_return OpenFile{.file = std::move(opened->file), .view = std::move(opened->view)};
}

Task<Result<storage::StagedFile>> KeptConversations::stage_file(FileName name) {
    BJ_CO_TRY_VOID(check(name));
    Result<storage::StagedFile> staged =
        co_await serve(name, FileQueue::Kind::Look, [this, name] { return store_.stage(name); });
    co_return staged;
}

Task<Result<PutFile>> KeptConversations::put_file(FilePut put) {
    BJ_CO_TRY_VOID(check(put.name));
    const FileName name = put.name;
    const auto held = std::make_shared<FilePut>(std::move(put));
    Result<ConversationStore::Written> written = co_await serve(
        name, FileQueue::Kind::Change, [this, held]() -> Result<ConversationStore::Written> {
            BJ_TRY(storage::StagedFile staged, staged_content(store_, *held));
            return store_.put(
                {.name = held->name, .condition = held->condition, .executable = held->executable},
                std::move(staged));
        });
    BJ_CO_TRY_VOID(written);
    tell({.file = name, .kind = written->kind});
    co_return PutFile{.file = std::move(written->file), .kind = written->kind};
}

Task<Result<void>> KeptConversations::make_directory(FileName name) {
    BJ_CO_TRY_VOID(check(name));
    Result<void> made = co_await serve(name, FileQueue::Kind::Change,
                                       [this, name] { return store_.make_directory(name); });
    co_return made;
}

Task<Result<FileView>> KeptConversations::move_file(execution::FileMove move) {
    BJ_CO_TRY_VOID(check(move.from));
    FileName name = move.from;
    Result<Moved> moved =
        co_await serve(name, FileQueue::Kind::Change,
                       [this, move = std::move(move)] { return move_in_store(store_, move); });
    BJ_CO_TRY_VOID(moved);
    for (const storage::ConversationChanges::Done& change : moved->changes) {
        name.path = change.file.path;
        tell({.file = name, .kind = change.kind});
    }
    co_return std::move(moved->view);
}

Task<Result<std::uint64_t>> KeptConversations::delete_tree(FileName name,
                                                           execution::FileCondition condition) {
    BJ_CO_TRY_VOID(check(name));
    Result<std::vector<std::string>> gone = co_await serve(
        name, FileQueue::Kind::Change, [this, name, condition = std::move(condition)] {
            return store_.remove_tree(name, condition);
        });
    BJ_CO_TRY_VOID(gone);
    for (const std::string& path : *gone) {
        name.path = path;
        tell({.file = name, .kind = FileChange::Kind::Deleted});
    }
    co_return gone->size();
}

Task<Result<CleanupReport>> KeptConversations::cleanup(CleanupOrder order) {
    if (busy_) {
        order.busy = busy_();
    }
    if (guard_.guarded) {
        std::ranges::move(guard_.guarded(), std::back_inserter(order.busy));
    }
    Result<CleanupReport> report = co_await request_threads_.run([this, order = std::move(order)] {
        const LowPriority meanwhile;
        return store_.clean_up(order);
    });
    co_return report;
}

Task<void> KeptConversations::sweep(CleanupOrder order) {
    co_await request_threads_.run([this] {
        const LowPriority meanwhile;
        store_.recover();
        return true;
    });
    while (sweeping_ && does_something(order)) {
        const Result<CleanupReport> report = co_await cleanup(order);
        if (!report) {
            log_.warning("conversations could not be cleaned up",
                         {{"reason", report.error().describe()}});
        } else if (!report->removals.empty()) {
            log_.info("conversations were removed",
                      {{"conversations", static_cast<std::int64_t>(report->removals.size())},
                       {"bytes", static_cast<std::int64_t>(report->bytes)}});
        }
        boost::system::error_code ignored;
        sweep_later_.expires_after(sweeping_ ? kSweepPause : Duration{});
        co_await sweep_later_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

void KeptConversations::stop_sweeping() {
    sweeping_ = false;
    sweep_later_.cancel();
}

}  // namespace belljar::engine
