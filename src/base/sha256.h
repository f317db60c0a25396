#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belljar {

// SHA-256 (FIPS 180-4) of what is added, piece by piece. For names and contents, not for secrets.
class Sha256 {
   public:
    void add(std::string_view data);
    // In lower-case hexadecimal. Nothing can be added afterwards.
    [[nodiscard]] std::string finish();

   private:
    void take_block(const unsigned char* block);

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<unsigned char, 64> rest_{};
    std::size_t rest_size_ = 0;
    std::uint64_t bytes_ = 0;
};

[[nodiscard]] std::string sha256_of(std::string_view data);

}  // namespace belljar
