#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "engine/conversations.h"
#include "mcp/testing/fake_executor.h"

namespace belljar::mcp {

// Files in memory, each its principal's own, for tests of who sees what and hears of what.
class OwnedFiles : public engine::Conversations {
   public:
    using Key = std::tuple<std::string, std::string, std::string>;  // principal, conversation, path

    Task<Result<std::vector<execution::ConversationView>>> list_conversations(
        std::string principal) override {
        std::vector<execution::ConversationView> views;
        for (const std::string& id : newest_first) {
            const auto count = std::ranges::count_if(files, [&](const auto& entry) {
                return std::get<0>(entry.first) == principal && std::get<1>(entry.first) == id;
            });
            if (count > 0) {
                views.push_back(
                    {.conversation_id = id, .files = static_cast<std::uint64_t>(count)});
            }
        }
        co_return views;
    }

    Task<Result<std::vector<execution::FileView>>> list_files(execution::FileName where) override {
        std::vector<execution::FileView> views;
        for (const auto& [key, content] : files) {
            if (std::get<0>(key) == where.principal && std::get<1>(key) == where.conversation_id) {
                views.push_back(view_of(std::get<2>(key), content));
            }
        }
        if (views.empty()) {
            co_return fail(ErrorCode::NotFound, "there is no such conversation");
        }
        co_return views;
    }

    Task<Result<execution::FilePart>> read_file(execution::FileName name,
                                                engine::ByteRange range) override {
        const auto found = files.find({name.principal, name.conversation_id, name.path});
        if (found == files.end()) {
            co_return fail(ErrorCode::NotFound, "there is no such file");
        }
        const std::string& content = found->second;
        const std::size_t offset = std::min<std::size_t>(range.offset, content.size());
        co_return execution::FilePart{.file = view_of(name.path, content),
                                      .offset = offset,
                                      .content = content.substr(offset, range.length)};
    }

    Watch watch(Watcher watcher) override {
        auto watch = std::make_shared<Watcher>(std::move(watcher));
        watchers.push_back(watch);
        return watch;
    }

    void put(const Key& key, std::string content) {
        files[key] = std::move(content);
        const std::string& id = std::get<1>(key);
        std::erase(newest_first, id);
        newest_first.insert(newest_first.begin(), id);
    }

    void tell(const Key& key, execution::FileChange::Kind kind) {
        for (const std::weak_ptr<Watcher>& weak : watchers) {
            if (const auto watcher = weak.lock()) {
                (*watcher)(
                    {.file = {std::get<0>(key), std::get<1>(key), std::get<2>(key)}, .kind = kind});
            }
        }
    }

    std::map<Key, std::string> files;
    std::vector<std::string> newest_first;  // conversations
    std::vector<std::weak_ptr<Watcher>> watchers;

   private:
    static execution::FileView view_of(const std::string& path, const std::string& content) {
        return {.path = path,
                .size = content.size(),
                .mime = path.ends_with(".png") ? "image/png" : "text/plain"};
    }
};

// An engine that has them.
class ExecutorWithFiles : public FakeExecutor {
   public:
    engine::Conversations& conversations() override { return owned; }

    OwnedFiles owned;
};

}  // namespace belljar::mcp
