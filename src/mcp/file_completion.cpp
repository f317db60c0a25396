#include "mcp/file_completion.h"

namespace belljar::mcp {
namespace {

// Of file names and ids, only what can be sent is of use to anybody.
constexpr std::size_t kMostValues = 10'000;

void add_if_begun(Completion& completion, std::string value, std::string_view begun) {
    if (value.starts_with(begun) && completion.values.size() < kMostValues) {
        completion.values.push_back(std::move(value));
    }
}

}  // namespace

Task<Completion> complete_conversation(engine::Conversations* conversations, Asker asker,
                                       std::string begun) {
    Completion completion;
    if (!asker.rights.has(access::Right::FilesRead)) {
        co_return completion;
    }
    const auto views = co_await conversations->list_conversations(asker.principal);
    if (!views) {
        co_return completion;
    }
    for (const execution::ConversationView& view : *views) {
        add_if_begun(completion, view.conversation_id, begun);
    }
    co_return completion;
}

Task<Completion> complete_path(engine::Conversations* conversations, Asker asker, PathBegun begun) {
    Completion completion;
    if (!asker.rights.has(access::Right::FilesRead) || begun.conversation_id.empty()) {
        co_return completion;
    }
    const auto files = co_await conversations->list_files(
        {.principal = asker.principal, .conversation_id = begun.conversation_id});
    if (!files) {
        co_return completion;
    }
    for (const execution::FileView& file : *files) {
        add_if_begun(completion, file.path, begun.path);
    }
    co_return completion;
}

Completion complete_from(const std::vector<std::string>& values, std::string_view begun) {
    Completion completion;
    for (const std::string& value : values) {
        add_if_begun(completion, value, begun);
    }
    return completion;
}

}  // namespace belljar::mcp
