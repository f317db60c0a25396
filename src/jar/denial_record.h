#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace belljar::jar {

// A sockaddr_in or sockaddr_in6 without what does not name a place; length 0 is none.
struct SocketAddress {
    std::uint32_t length = 0;
    std::array<std::uint8_t, 28> bytes{};

    bool operator==(const SocketAddress&) const = default;
};

// What a guest passed to connect, reduced; length 0 if it is of another family or too short.
[[nodiscard]] SocketAddress internet_address(std::span<const std::byte> sockaddr);

// Whether an attempt to connect there says that the guest wants the network: any place outside the
// jar, and a name server anywhere.
[[nodiscard]] bool seeks_network(const SocketAddress& address);

// One kind of thing that guests of a jar tried, as it is sent in a packet.
struct DenialRecord {
    std::uint32_t number = 0;  // of the call
    std::int32_t error = 0;    // what the guest was told; 0: the call went on, the kernel answered
    std::uint64_t key = 0;     // key_argument() of the call
    std::uint64_t count = 0;
    SocketAddress address{};  // of connect

    [[nodiscard]] bool same_kind(const DenialRecord& other) const;
};

static_assert(std::is_trivially_copyable_v<DenialRecord>);
static_assert(std::has_unique_object_representations_v<DenialRecord>, "no padding leaves the jar");

// Counts by kind, within bounds that no guest can move: few kinds in all, and of one call fewer,
// so that a scan of addresses does not hide what comes after it.
class DenialTally {
   public:
    static constexpr std::size_t kKinds = 16;
    static constexpr std::size_t kKindsPerCall = 6;

    // The record, if it is the first of its kind and there is room.
    std::optional<DenialRecord> add(const DenialRecord& record);

    [[nodiscard]] std::span<const DenialRecord> records() const {
        return std::span(records_).first(used_);
    }
    // How often something happened for which there was no room.
    [[nodiscard]] std::uint64_t uncounted() const { return uncounted_; }

   private:
    std::array<DenialRecord, kKinds> records_{};
    std::size_t used_ = 0;
    std::uint64_t uncounted_ = 0;
};

}  // namespace belljar::jar
