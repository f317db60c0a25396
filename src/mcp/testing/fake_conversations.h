#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "engine/conversations.h"

namespace belljar::mcp {

// Keeps files in memory, by conversation and path; principals do not matter to it.
class FakeConversations : public engine::Conversations {
   public:
    Task<Result<std::vector<execution::FileView>>> list_files(execution::FileName where) override {
        std::vector<execution::FileView> found;
        for (const auto& [name, content] : files) {
            const bool below = where.path.empty() || name.second == where.path ||
                               name.second.starts_with(where.path + "/");
            if (name.first == where.conversation_id && below) {
                found.push_back(view_of(name.second, content));
            }
        }
        if (found.empty()) {
            co_return fail(ErrorCode::NotFound, "there is no such conversation");
        }
        co_return found;
    }

    Task<Result<execution::FileView>> find_file(execution::FileName name,
                                                execution::Digest /*digest*/) override {
        const auto found = files.find({name.conversation_id, name.path});
        if (found == files.end()) {
            co_return fail(ErrorCode::NotFound, "there is no such file");
        }
        co_return view_of(name.path, found->second);
    }

    Task<Result<execution::FilePart>> read_file(execution::FileName name,
                                                engine::ByteRange range) override {
        const auto found = files.find({name.conversation_id, name.path});
        if (found == files.end()) {
            co_return fail(ErrorCode::NotFound, "there is no such file");
        }
        const std::string& content = found->second;
        const std::size_t offset = std::min<std::size_t>(range.offset, content.size());
        co_return execution::FilePart{.file = view_of(name.path, content),
                                      .offset = range.offset,
                                      .content = content.substr(offset, range.length)};
    }

    Task<Result<execution::FilePart>> read_for_run(execution::FileName name,
                                                   engine::ByteRange range) override {
        return read_file(std::move(name), range);
    }

    Task<Result<execution::FileView>> write_file(execution::FileName name,
                                                 std::string content) override {
        std::string& kept = files[{name.conversation_id, name.path}];
        kept = std::move(content);
        co_return view_of(name.path, kept);
    }

    std::map<std::pair<std::string, std::string>, std::string> files;

   private:
    static execution::FileView view_of(const std::string& path, const std::string& content) {
        return {.path = path,
                .size = content.size(),
                .mime = path.ends_with(".png") ? "image/png" : "text/plain"};
    }
};

}  // namespace belljar::mcp
