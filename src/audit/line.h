#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "base/result.h"

// One record of the trail is one line:
//
//   {"seq":2,"prev":"…","time":"…","kind":"run","body":{…},"commit":"…"   the core
//   ,"hash":"…","mac":"…"
//   ,"salt":"…","personal":{…}}   or   ,"erased":true}   or   }
//
// `hash` is over the bytes of the core, which holds the hash of the record before; `commit` in the
// core is over the salt and the bytes of what is personal, so that this part can go while the chain
// stays whole. `mac` can be made only with the trail's key.
namespace belljar::audit {

inline constexpr std::size_t kHashDigits = 64;
inline constexpr std::string_view kHashOfNothing =
    "0000000000000000000000000000000000000000000000000000000000000000";

// What is to be recorded. No object in it has a member called "hash".
struct Entry {
    std::string kind{};
    JsonText body{};
    JsonText personal{};  // what erasure takes away
};

// Where a chain stands: its last record.
struct ChainEnd {
    std::uint64_t seq = 0;
    std::string hash{kHashOfNothing};

    bool operator==(const ChainEnd&) const = default;
};

struct EncodedLine {
    std::string text{};  // with the line break
    ChainEnd end{};
};

[[nodiscard]] EncodedLine encode_line(const Entry& entry, const ChainEnd& before,
                                      std::chrono::system_clock::time_point time,
                                      std::string_view mac_key);

// A line cut into its parts, which point into it.
struct LineParts {
    std::uint64_t seq = 0;
    std::string_view prev{};
    std::string_view time{};
    std::string_view kind{};
    std::string_view body{};
    std::string_view core{};
    std::string_view commit{};  // empty: nothing was personal
    std::string_view hash{};
    std::string_view mac{};
    std::string_view kept{};  // line up to and with the mac
    std::string_view salt{};
    std::string_view personal{};
    bool erased = false;
};

// The line without its break. Takes exactly what encode_line() and erase_personal() write; the
// error says what is wrong in a few words.
[[nodiscard]] Result<LineParts> split_line(std::string_view line);

// Whether it is whole and follows `before`. Without a key the mac is not looked at.
[[nodiscard]] Result<void> check_line(const LineParts& parts, const ChainEnd& before,
                                      std::string_view mac_key);

// The same line without its personal part, with the line break.
[[nodiscard]] std::string erase_personal(const LineParts& parts);

[[nodiscard]] std::string to_hex(std::string_view bytes);

}  // namespace belljar::audit
