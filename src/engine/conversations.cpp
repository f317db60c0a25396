#include "engine/conversations.h"

#include "base/percent.h"

namespace belljar::engine {
namespace {

constexpr std::string_view kBeginning = "belljar://conversations/";
constexpr std::string_view kMiddle = "/files/";

std::unexpected<Error> nothing_kept() {
    return fail(ErrorCode::Unsupported, "files that outlive a run are not kept here");
}

}  // namespace

Task<Result<std::vector<execution::ConversationView>>> Conversations::list_conversations(
    std::string /*principal*/) {
    co_return nothing_kept();
}

Task<Result<std::vector<execution::FileView>>> Conversations::list_files(
    execution::FileName /*where*/) {
    co_return nothing_kept();
}

Task<Result<execution::FileView>> Conversations::find_file(execution::FileName /*name*/,
                                                           execution::Digest /*digest*/) {
    co_return nothing_kept();
}

Task<Result<execution::FilePart>> Conversations::read_file(execution::FileName /*name*/,
                                                           ByteRange /*range*/) {
    co_return nothing_kept();
}

Task<Result<execution::FileView>> Conversations::write_file(execution::FileName /*name*/,
                                                            std::string /*content*/) {
    co_return nothing_kept();
}

Task<Result<void>> Conversations::delete_file(execution::FileName /*name*/) {
    co_return nothing_kept();
}

Task<Result<void>> Conversations::delete_conversation(std::string /*principal*/,
                                                      std::string /*conversation_id*/) {
    co_return nothing_kept();
}

Task<Result<MadeConversation>> Conversations::create_conversation(std::string /*principal*/,
                                                                  std::string /*conversation_id*/) {
    co_return nothing_kept();
}

Task<Result<execution::ConversationView>> Conversations::find_conversation(
    std::string /*principal*/, std::string /*conversation_id*/) {
    co_return nothing_kept();
}

Task<Result<execution::ConversationPage>> Conversations::page_conversations(
    std::optional<std::string> /*principal*/, execution::PageQuery /*page*/) {
    co_return nothing_kept();
}

Task<Result<execution::StorageUsage>> Conversations::usage(std::string /*principal*/,
                                                           std::string /*conversation_id*/) {
    co_return nothing_kept();
}

Task<Result<execution::FilePart>> Conversations::read_for_run(execution::FileName /*name*/,
                                                              ByteRange /*range*/) {
    co_return nothing_kept();
}

Task<Result<execution::FilePage>> Conversations::page_files(execution::FileQuery /*query*/) {
    co_return nothing_kept();
}

Task<Result<OpenFile>> Conversations::open_file(execution::FileName /*name*/,
                                                execution::Digest /*digest*/) {
    co_return nothing_kept();
}

Task<Result<storage::StagedFile>> Conversations::stage_file(execution::FileName /*name*/) {
    co_return nothing_kept();
}

Task<Result<PutFile>> Conversations::put_file(FilePut /*put*/) { co_return nothing_kept(); }

Task<Result<std::vector<PutFile>>> Conversations::import_files(FileImport /*import*/) {
    co_return nothing_kept();
}

std::string Conversations::url_of(const execution::FileName& /*name*/) const { return {}; }

Task<Result<void>> Conversations::make_directory(execution::FileName /*name*/) {
    co_return nothing_kept();
}

Task<Result<execution::FileView>> Conversations::move_file(execution::FileMove /*move*/) {
    co_return nothing_kept();
}

Task<Result<std::uint64_t>> Conversations::delete_tree(execution::FileName /*name*/,
                                                       execution::FileCondition /*condition*/) {
    co_return nothing_kept();
}

Task<Result<execution::CleanupReport>> Conversations::cleanup(execution::CleanupOrder /*order*/) {
    co_return nothing_kept();
}

Conversations::Watch Conversations::watch(Watcher watcher) {
    return std::make_shared<Watcher>(std::move(watcher));
}

std::string file_uri(std::string_view conversation_id, std::string_view path) {
    return std::string(kBeginning) + percent_encoded(conversation_id, "") + std::string(kMiddle) +
           percent_encoded(path, "/");
}

std::optional<execution::FileName> parse_file_uri(std::string_view uri) {
    if (!uri.starts_with(kBeginning)) {
        return std::nullopt;
    }
    uri.remove_prefix(kBeginning.size());
    const std::size_t middle = uri.find('/');
    if (middle == std::string_view::npos || !uri.substr(middle).starts_with(kMiddle)) {
        return std::nullopt;
    }
    const auto conversation = percent_decoded(uri.substr(0, middle));
    const auto path = percent_decoded(uri.substr(middle + kMiddle.size()));
    if (!conversation || conversation->empty() || !path || path->empty()) {
        return std::nullopt;
    }
    return execution::FileName{.conversation_id = *conversation, .path = *path};
}

}  // namespace belljar::engine
