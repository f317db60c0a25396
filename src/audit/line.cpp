#include "audit/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/id.h"
#include "base/utc_time.h"
#include "crypto/digest.h"

namespace belljar::audit {
namespace {

constexpr std::string_view kRecordPurpose = "belljar audit record\n";
constexpr std::string_view kPersonalPurpose = "belljar audit personal\n";
constexpr std::size_t kMacDigits = 32;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kRoomForRest = 640;  // of a line beside what is recorded

constexpr std::string_view kNoCommit = ",\"commit\":null";
constexpr std::string_view kCommit = ",\"commit\":\"";
constexpr std::string_view kHash = ",\"hash\":\"";
constexpr std::string_view kErased = ",\"erased\":true}";

std::string hash_of(std::string_view purpose, std::string_view text) {
    crypto::Sha256 hash;
    hash.add(purpose);
    hash.add(text);
    return hash.finish();
}

std::string commit_of(std::string_view salt, std::string_view personal) {
    crypto::Sha256 hash;
    hash.add(kPersonalPurpose);
    hash.add(salt);
    hash.add("\n");
    hash.add(personal);
    return hash.finish();
}

std::string mac_of(std::string_view mac_key, std::string_view hash) {
    return to_hex(crypto::hmac_sha256(mac_key, hash).substr(0, kMacDigits / 2));
}

void append(std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
        text += part;
    }
}

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
    });
}

std::unexpected<Error> wrong(std::string why) {
    return fail(ErrorCode::InvalidArgument, std::move(why));
}

// Reads a line from the front, each part in its only form.
class Cutter {
   public:
    explicit Cutter(std::string_view rest) : rest_(rest) {}

    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] std::string_view rest() const { return rest_; }

    void expect(std::string_view text) {
        good_ = good_ && rest_.starts_with(text);
        rest_.remove_prefix(good_ ? text.size() : 0);
    }
    std::string_view hex(std::size_t digits) {
        good_ = good_ && rest_.size() >= digits && is_hex(rest_.substr(0, digits));
        return take(digits);
    }
    // Up to the text, which stays.
    std::string_view until(std::string_view text) {
        const std::size_t end = good_ ? rest_.find(text) : std::string_view::npos;
        good_ = good_ && end != std::string_view::npos;
        return take(end);
    }
    std::uint64_t number() {
        std::uint64_t value = 0;
        const char* const begin = rest_.data();
        const auto [end, error] = std::from_chars(begin, begin + rest_.size(), value);
        good_ = good_ && error == std::errc{} && *begin != '0';
        take(static_cast<std::size_t>(end - begin));
        return value;
    }

   private:
    std::string_view take(std::size_t count) {
        if (!good_) {
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
    bool good_ = true;
};

// The commitment stands at the end of the core, in one of two forms.
bool cut_commit(LineParts& parts, std::string_view& body) {
    const std::string_view core = parts.core;
    if (core.ends_with(kNoCommit)) {
        body.remove_suffix(kNoCommit.size());
        return true;
    }
    const std::size_t size = kCommit.size() + kHashDigits + 1;
    if (body.size() < size || core.back() != '"' ||
        core.substr(core.size() - size, kCommit.size()) != kCommit) {
        return false;
    }
    parts.commit = core.substr(core.size() - kHashDigits - 1, kHashDigits);
    body.remove_suffix(size);
    return is_hex(parts.commit);
}

// What comes after the mac.
bool cut_tail(LineParts& parts, std::string_view tail) {
    if (parts.commit.empty()) {
        return tail == "}";
    }
    if (tail == kErased) {
        parts.erased = true;
        return true;
    }
    Cutter cutter(tail);
    cutter.expect(",\"salt\":\"");
    parts.salt = cutter.hex(kSaltBytes * 2);
    cutter.expect("\",\"personal\":");
    parts.personal = cutter.rest();
    if (!cutter.good() || !parts.personal.ends_with('}')) {
        return false;
    }
    parts.personal.remove_suffix(1);
    return true;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += kDigits[value >> 4U];
        text += kDigits[value & 0xFU];
    }
    return text;
}

EncodedLine encode_line(const Entry& entry, const ChainEnd& before,
                        std::chrono::system_clock::time_point time, std::string_view mac_key) {
    EncodedLine line{.end = {.seq = before.seq + 1}};
    std::string& text = line.text;
    text.reserve(entry.body.size() + entry.personal.size() + kRoomForRest);
    text = "{\"seq\":";
    text += std::to_string(line.end.seq);
    append(text, {",\"prev\":\"", before.hash, "\",\"time\":\"", format_utc(time), "\",\"kind\":\"",
                  entry.kind, "\",\"body\":"});
    entry.body.append_to(text);
    std::string salt;
    std::string personal;
    if (entry.personal.empty()) {
        text += kNoCommit;
    } else {
        salt = random_hex(kSaltBytes);
        personal = entry.personal.text();
        append(text, {kCommit, commit_of(salt, personal), "\""});
    }
    line.end.hash = hash_of(kRecordPurpose, text);
    append(text, {kHash, line.end.hash, "\",\"mac\":\"", mac_of(mac_key, line.end.hash), "\""});
    if (!salt.empty()) {
        append(text, {",\"salt\":\"", salt, "\",\"personal\":", personal});
    }
    text += "}\n";
    return line;
}

Result<LineParts> split_line(std::string_view line) {
    LineParts parts;
    Cutter cutter(line);
    cutter.expect("{\"seq\":");
    parts.seq = cutter.number();
    cutter.expect(",\"prev\":\"");
    parts.prev = cutter.hex(kHashDigits);
    cutter.expect("\",\"time\":\"");
    parts.time = cutter.until("\"");
    cutter.expect("\",\"kind\":\"");
    parts.kind = cutter.until("\"");
    cutter.expect("\",\"body\":");
    std::string_view body = cutter.until(kHash);
    parts.core = line.substr(0, line.size() - cutter.rest().size());
    cutter.expect(kHash);
    parts.hash = cutter.hex(kHashDigits);
    cutter.expect("\",\"mac\":\"");
    parts.mac = cutter.hex(kMacDigits);
    cutter.expect("\"");
    if (!cutter.good()) {
        return wrong("this is no record as it was written");
    }
    parts.kept = line.substr(0, line.size() - cutter.rest().size());
    if (!cut_commit(parts, body) || !cut_tail(parts, cutter.rest())) {
        return wrong("this is no record as it was written");
    }
    parts.body = body;
    return parts;
}

Result<void> check_line(const LineParts& parts, const ChainEnd& before, std::string_view mac_key) {
    if (parts.seq != before.seq + 1) {
        return wrong(fmt::format("record {} stands where {} belongs", parts.seq, before.seq + 1));
    }
    if (parts.prev != before.hash) {
        return wrong("it does not follow from the record before it");
    }
    if (hash_of(kRecordPurpose, parts.core) != parts.hash) {
        return wrong("its text does not have its hash");
    }
    if (!mac_key.empty() && mac_of(mac_key, parts.hash) != parts.mac) {
        return wrong("it was not written with the key of this trail");
    }
    if (!parts.salt.empty() && commit_of(parts.salt, parts.personal) != parts.commit) {
        return wrong("its personal part was changed");
    }
    return {};
}

std::string erase_personal(const LineParts& parts) {
    std::string line(parts.kept);
    line += kErased;
    line += '\n';
    return line;
}

}  // namespace belljar::audit
