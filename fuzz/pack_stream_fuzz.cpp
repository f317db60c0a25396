// What a jar sends of its files: whatever the bytes are, paths stay below the workspace, data is
// inside of files, and nothing comes after the end.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/beneath.h"
#include "jar/pack_stream.h"

namespace {

using belljar::Result;
using belljar::jar::PackedEntry;
using belljar::jar::PackKind;

class Judge final : public belljar::jar::PackSink {
   public:
    Result<void> on_entry(const PackedEntry& entry) override {
        const bool named = entry.kind == PackKind::Directory || entry.kind == PackKind::File ||
                           entry.kind == PackKind::Gone;
        if (ended_ || (named && !belljar::is_plain_path(entry.path)) ||
            entry.path.size() > belljar::kLongestPath ||
            in_file_ != (entry.kind == PackKind::FileEnd)) {
            std::abort();
        }
        in_file_ = entry.kind == PackKind::File;
        ended_ = entry.kind == PackKind::End || entry.kind == PackKind::Take;
        return {};
    }

    Result<void> on_data(std::string_view data) override {
        if (!in_file_ || data.empty() || data.size() > belljar::jar::kLargestBody) {
            std::abort();
        }
        return {};
    }

   private:
    bool in_file_ = false;
    bool ended_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    Judge judge;
    belljar::jar::PackParser parser(judge);
    while (!parser.ended() && rest.size() >= parser.wanted()) {
        const std::size_t wanted = parser.wanted();
        if (!parser.feed(rest.substr(0, wanted))) {
            break;
        }
        rest.remove_prefix(wanted);
    }
    return 0;
}
