#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace belljar {
namespace {

constexpr std::array<std::uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* bytes) {
    return static_cast<std::uint32_t>(bytes[0]) << 24U |
           static_cast<std::uint32_t>(bytes[1]) << 16U |
           static_cast<std::uint32_t>(bytes[2]) << 8U | static_cast<std::uint32_t>(bytes[3]);
}

std::array<std::uint32_t, 64> schedule_of(const unsigned char* block) {
    std::array<std::uint32_t, 64> words{};
    for (std::size_t index = 0; index < 16; ++index) {
        words[index] = big_endian(block + 4 * index);
    }
    for (std::size_t index = 16; index < words.size(); ++index) {
        const std::uint32_t early = words[index - 15];
        const std::uint32_t late = words[index - 2];
        words[index] = words[index - 16] + words[index - 7] +
                       (std::rotr(early, 7) ^ std::rotr(early, 18) ^ (early >> 3U)) +
                       (std::rotr(late, 17) ^ std::rotr(late, 19) ^ (late >> 10U));
    }
    return words;
}

}  // namespace

void Sha256::take_block(const unsigned char* block) {
    const std::array<std::uint32_t, 64> words = schedule_of(block);
    std::array<std::uint32_t, 8> now = state_;
    for (std::size_t round = 0; round < words.size(); ++round) {
        const std::uint32_t choice = (now[4] & now[5]) ^ (~now[4] & now[6]);
        const std::uint32_t majority = (now[0] & now[1]) ^ (now[0] & now[2]) ^ (now[1] & now[2]);
        const std::uint32_t first =
            now[7] + (std::rotr(now[4], 6) ^ std::rotr(now[4], 11) ^ std::rotr(now[4], 25)) +
            choice + kRounds[round] + words[round];
        const std::uint32_t second =
            (std::rotr(now[0], 2) ^ std::rotr(now[0], 13) ^ std::rotr(now[0], 22)) + majority;
        std::shift_right(now.begin(), now.end(), 1);
        now[4] += first;
        now[0] = first + second;
    }
    for (std::size_t index = 0; index < state_.size(); ++index) {
        state_[index] += now[index];
    }
}

void Sha256::add(std::string_view data) {
    bytes_ += data.size();
    while (!data.empty()) {
        if (rest_size_ == 0 && data.size() >= rest_.size()) {
            take_block(reinterpret_cast<const unsigned char*>(data.data()));
            data.remove_prefix(rest_.size());
            continue;
        }
        const std::size_t taken = std::min(rest_.size() - rest_size_, data.size());
        std::memcpy(rest_.data() + rest_size_, data.data(), taken);
        rest_size_ += taken;
        data.remove_prefix(taken);
        if (rest_size_ == rest_.size()) {
            take_block(rest_.data());
            rest_size_ = 0;
        }
    }
}

std::string Sha256::finish() {
    constexpr std::size_t kLengthPlace = 56;
    const std::uint64_t bits = bytes_ * 8;
    add(std::string_view("\x80", 1));
    while (rest_size_ != kLengthPlace) {
        add(std::string_view("\0", 1));
    }
    std::array<char, 8> length{};
    for (std::size_t index = 0; index < length.size(); ++index) {
        length[index] = static_cast<char>(bits >> (56U - 8U * index));
    }
    add(std::string_view(length.data(), length.size()));
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint32_t word : state_) {
        for (unsigned shift = 32; shift > 0; shift -= 4) {
            text += kDigits[(word >> (shift - 4)) & 15U];
        }
    }
    return text;
}

std::string sha256_of(std::string_view data) {
    Sha256 hash;
    hash.add(data);
    return hash.finish();
}

}  // namespace belljar
