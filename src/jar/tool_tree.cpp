#include "jar/tool_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/beneath.h"
#include "jar/pack_stream.h"

namespace belljar::jar {
namespace {

class ToolSink final : public PackSink {
   public:
    explicit ToolSink(const Fd& directory) : directory_(directory) {}

    Result<void> on_entry(const PackedEntry& entry) override {
        switch (entry.kind) {
            case PackKind::File:
                return open_file(entry.path);
            case PackKind::FileEnd:
                file_.reset();
                return {};
            case PackKind::End:
                return {};
            default:
                return fail(system_error("a pack of tools with something else in it", EPROTO));
        }
    }

    Result<void> on_data(std::string_view data) override { return write_all(file_, data); }

   private:
    Result<void> open_file(const std::string& path) {
        constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL;
        BJ_TRY(const Place place, find_place(directory_, path, Parents::Made));
        BJ_TRY(file_, open_beneath(place.directory, place.name, kFlags, 0444));
        return {};
    }

    const Fd& directory_;
    Fd file_;
};

Result<void> check_size(const Fd& pack) {
    struct stat status{};
    if (::fstat(pack.get(), &status) != 0) {
        return fail(system_error("fstat"));
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (!S_ISREG(status.st_mode) || size > kLargestToolPack) {
        return fail(system_error("a pack of tools that is none", EPROTO));
    }
    return {};
}

// At a place and not from where the last reader stopped: all jars share one open file.
Result<void> read_exactly(const Fd& pack, std::string& buffer, off_t offset) {
    std::size_t filled = 0;
    while (filled < buffer.size()) {
        const ssize_t count = ::pread(pack.get(), buffer.data() + filled, buffer.size() - filled,
                                      offset + static_cast<off_t>(filled));
        if (count == 0) {
            return fail(system_error("a pack of tools without an end", EPROTO));
        }
        if (count < 0 && errno != EINTR) {
            return fail(system_error("pread"));
        }
        filled += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    return {};
}

}  // namespace

Result<void> unpack_tools(const Fd& pack, const Fd& directory) {
    BJ_TRY_VOID(check_size(pack));
    ToolSink sink(directory);
    PackParser parser(sink);
    std::string buffer;
    off_t offset = 0;
    while (!parser.ended()) {
        buffer.resize(parser.wanted());
        BJ_TRY_VOID(read_exactly(pack, buffer, offset));
        offset += static_cast<off_t>(buffer.size());
        BJ_TRY_VOID(parser.feed(buffer));
    }
    return {};
}

}  // namespace belljar::jar
