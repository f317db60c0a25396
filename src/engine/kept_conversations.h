#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/cancellation.h"
#include "engine/conversations.h"
#include "engine/file_queue.h"
#include "engine/file_threads.h"
#include "engine/file_transfer.h"
#include "execution/result.h"
#include "privacy/types.h"
#include "storage/conversation_store.h"
#include "storage/signed_url.h"

namespace belljar::engine {

class KeptConversations;

// The time in which a run has the files of a conversation: no other run has them meanwhile.
class Stay {
   public:
    Stay(KeptConversations& conversations, execution::FileName of,
         storage::ConversationDirectory directory);
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay();

    [[nodiscard]] const std::string& conversation_id() const { return of_.conversation_id; }
    // See Conversations::url_of.
    [[nodiscard]] std::string url_of(const std::string& path) const;

    // Brings the conversation's files into a jar, as far as it has not got them.
    Task<Result<void>> give(std::shared_ptr<FileChannel> channel);
    // Awaits what a jar sends at its end, and takes it. Without a result if nothing could be taken.
    Task<std::optional<TakenFiles>> take_at_end(std::shared_ptr<FileChannel> channel,
                                                std::optional<ProgramFile> program,
                                                TimePoint give_up);
    // Orders a jar that goes on to send what has changed.
    Task<std::optional<TakenFiles>> take_now(std::shared_ptr<FileChannel> channel);

   private:
    friend class KeptConversations;
    Task<std::optional<TakenFiles>> take(std::shared_ptr<FileChannel> channel,
                                         std::optional<ProgramFile> program);
    Task<Result<TakenFiles>> take_in_turn(std::shared_ptr<FileChannel> channel,
                                          std::optional<ProgramFile> program);

    KeptConversations& conversations_;
    execution::FileName of_;
    std::shared_ptr<const storage::ConversationDirectory> directory_;
    Fd turn_;  // against other processes
};
using StayPtr = std::shared_ptr<Stay>;

// Says in the result what became of the files of a run.
void report_files(const Stay& stay, const std::optional<TakenFiles>& taken,
                  execution::RunResult& result);

// The files of conversations in a store on disk. All that blocks is done by threads of its own:
// some serve requests, others the runs, which wait for no request but one that changes the same
// conversation.
class KeptConversations final : public Conversations {
   public:
    // The store outlives this, and so does the log.
    KeptConversations(const asio::any_io_executor& executor,
                      const storage::ConversationStore& store, const Log& log);

    Task<Result<std::vector<execution::ConversationView>>> list_conversations(
        std::string principal) override;
    Task<Result<std::vector<execution::FileView>>> list_files(execution::FileName where) override;
    Task<Result<execution::FileView>> find_file(execution::FileName name,
                                                execution::Digest digest) override;
    Task<Result<execution::FilePart>> read_file(execution::FileName name, ByteRange range) override;
    Task<Result<execution::FilePart>> read_for_run(execution::FileName name,
                                                   ByteRange range) override;
    Task<Result<execution::FileView>> write_file(execution::FileName name,
                                                 std::string content) override;
    Task<Result<void>> delete_file(execution::FileName name) override;
    Task<Result<void>> delete_conversation(std::string principal,
                                           std::string conversation_id) override;
    Task<Result<std::vector<PutFile>>> import_files(FileImport import) override;
    [[nodiscard]] std::string url_of(const execution::FileName& name) const override;
    // It outlives this; nothing: files have no addresses.
    void sign_with(const storage::UrlSigner* signer) { signer_ = signer; }
    // What read_file() gives is masked from now on.
    void mask(privacy::TypeSet types) { masked_ = types; }
    Task<Result<MadeConversation>> create_conversation(std::string principal,
                                                       std::string conversation_id) override;
    Task<Result<execution::ConversationView>> find_conversation(
        std::string principal, std::string conversation_id) override;
    Task<Result<execution::ConversationPage>> page_conversations(
        std::optional<std::string> principal, execution::PageQuery page) override;
    Task<Result<execution::StorageUsage>> usage(std::string principal,
                                                std::string conversation_id) override;
    Task<Result<execution::FilePage>> page_files(execution::FileQuery query) override;
    Task<Result<OpenFile>> open_file(execution::FileName name, execution::Digest digest) override;
    Task<Result<storage::StagedFile>> stage_file(execution::FileName name) override;
    Task<Result<PutFile>> put_file(FilePut put) override;
    Task<Result<void>> make_directory(execution::FileName name) override;
    Task<Result<execution::FileView>> move_file(execution::FileMove move) override;
    Task<Result<std::uint64_t>> delete_tree(execution::FileName name,
                                            execution::FileCondition condition) override;
    Task<Result<execution::CleanupReport>> cleanup(execution::CleanupOrder order) override;
    [[nodiscard]] Watch watch(Watcher watcher) override;

    // Tells which ones a session has; they are not cleaned up.
    void spare(std::function<std::vector<execution::FileName>()> busy) { busy_ = std::move(busy); }
    // Conversations that nobody may use, nor clean up.
    struct Guard {
        // Asked before anything is done with the files of one; its error is the answer.
        std::function<Result<void>(const execution::FileName&)> check{};
        std::function<std::vector<execution::FileName>()> guarded{};
    };
    void guard_with(Guard guard) { guard_ = std::move(guard); }
    // Takes away what a crash has left, and then every now and then what the order says, until
    // stop_sweeping().
    Task<void> sweep(execution::CleanupOrder order);
    void stop_sweeping();

    // For a run: one after the other, in the order of their coming. Makes the conversation.
    Task<Result<StayPtr>> enter(execution::FileName of, TimePoint deadline,
                                CancellationPtr cancellation);

   private:
    friend class Stay;
    using Key = std::pair<std::string, std::string>;  // principal and conversation
    struct Lane {
        bool busy = false;
        std::list<asio::steady_timer*> waiting{};
    };
    static constexpr Duration kPatience = std::chrono::seconds(30);

    // Does it for a request, when it is its turn.
    template <typename Work>
    Task<std::invoke_result_t<Work>> serve(execution::FileName of, FileQueue::Kind kind,
                                           Work work) {
        BJ_CO_TRY(const FileQueue::PlacePtr place,
                  co_await file_queue_->enter(std::move(of), kind, Clock::now() + kPatience));
        std::invoke_result_t<Work> result = co_await request_threads_.run(std::move(work));
        co_return result;
    }
    Task<Result<storage::ConversationDirectory>> open_for_run(execution::FileName of,
                                                              TimePoint deadline);
    Task<Result<void>> queue(Key key, TimePoint deadline, CancellationPtr cancellation);
    void leave(const Key& key);
    Task<Result<void>> take_turn(StayPtr stay, TimePoint deadline, CancellationPtr cancellation);
    void tell(const execution::FileChange& change);
    [[nodiscard]] Result<execution::FilePart> read_masked(const execution::FileName& name,
                                                          ByteRange range) const;
    [[nodiscard]] Result<void> check(const execution::FileName& name) const;

    asio::any_io_executor executor_;
    const storage::ConversationStore& store_;
    privacy::TypeSet masked_;
    const storage::UrlSigner* signer_ = nullptr;
    const Log& log_;
    std::map<Key, Lane> lanes_;
    std::vector<std::weak_ptr<Watcher>> watchers_;
    std::shared_ptr<FileQueue> file_queue_;  // with those who are in it
    FileThreads request_threads_;
    FileThreads run_threads_;
    asio::steady_timer sweep_later_;
    bool sweeping_ = true;
    std::function<std::vector<execution::FileName>()> busy_;
    Guard guard_;
};

}  // namespace belljar::engine
