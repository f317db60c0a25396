#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belljar::storage {

// Writes archives for tests, also such as no honest program writes.
class TestArchive {
   public:
    struct Entry {
        std::string name{};
        std::string content{};
        std::string local_name{};  // empty: the same
        std::uint16_t method = 0;
        std::uint16_t flags = 0;
        std::uint32_t attributes = 0;
        std::int64_t size_lie = -1;  // in both headers
        std::int64_t offset_lie = -1;
        std::int64_t checksum_lie = -1;
    };

    void add(const Entry& entry) {
        const std::string& local_name = entry.local_name.empty() ? entry.name : entry.local_name;
        const auto offset = static_cast<std::uint32_t>(bytes_.size());
        const auto fields = [&](std::string& text, const std::string& name) {
            put(text, 20, 2);
            put(text, entry.flags, 2);
            put(text, entry.method, 2);
            put(text, 0, 4);
            put(text,
                entry.checksum_lie >= 0 ? static_cast<std::uint64_t>(entry.checksum_lie)
                                        : sum(entry.content),
                4);
            put(text, entry.content.size(), 4);
            put(text,
                entry.size_lie >= 0 ? static_cast<std::uint64_t>(entry.size_lie)
                                    : entry.content.size(),
                4);
            put(text, name.size(), 2);
            put(text, 0, 2);
        };
        put(bytes_, 0x04034b50, 4);
        fields(bytes_, local_name);
        bytes_ += local_name + entry.content;
        put(list_, 0x02014b50, 4);
        put(list_, 3U << 8 | 20, 2);
        fields(list_, entry.name);
        put(list_, 0, 6);
        put(list_, entry.attributes, 4);
        put(list_, entry.offset_lie >= 0 ? static_cast<std::uint64_t>(entry.offset_lie) : offset,
            4);
        list_ += entry.name;
        ++count_;
    }

    [[nodiscard]] std::string finish(std::string_view comment = "", int count_lie = -1) const {
        std::string end;
        put(end, 0x06054b50, 4);
        put(end, 0, 4);
        const auto count = count_lie >= 0 ? static_cast<std::uint64_t>(count_lie) : count_;
        put(end, count, 2);
        put(end, count, 2);
        put(end, list_.size(), 4);
        put(end, bytes_.size(), 4);
        put(end, comment.size(), 2);
        return bytes_ + list_ + end + std::string(comment);
    }

    static void put(std::string& text, std::uint64_t value, int bytes) {
        for (int index = 0; index < bytes; ++index) {
            text += static_cast<char>(value >> (8 * index) & 0xFFU);
        }
    }

    static std::uint32_t sum(std::string_view data) {
        return static_cast<std::uint32_t>(
            ::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    }

   private:
    std::string bytes_;
    std::string list_;
    std::uint64_t count_ = 0;
};

}  // namespace belljar::storage
