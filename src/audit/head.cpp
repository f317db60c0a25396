#include "audit/head.h"

#include <fmt/format.h>

#include "crypto/digest.h"

namespace belljar::audit {
namespace {

constexpr std::string_view kPurpose = "belljar audit head\n";

std::string text_of(const Head& head) {
    return fmt::format(
        R"({{"file":{},"size":{},"seq":{},"hash":"{}","signed":{},"signed_at":{},"begun_at":{})",
        head.file, head.size, head.end.seq, head.end.hash, head.signed_seq, head.signed_at,
        head.begun_at);
}

std::string with_mac(std::string text, std::string_view mac) {
    text += ",\"mac\":\"";
    text += mac;
    text += "\"}";
    text.resize(kHeadSize - 1, ' ');
    text += '\n';
    return text;
}

std::string head_mac_of(std::string_view text, std::string_view mac_key) {
    return to_hex(crypto::hmac_sha256(mac_key, std::string(kPurpose).append(text)));
}

}  // namespace

std::string encode_head(const Head& head, std::string_view mac_key) {
    std::string text = text_of(head);
    const std::string mac = head_mac_of(text, mac_key);
    return with_mac(std::move(text), mac);
}

Result<Head> parse_head(std::string_view text, std::string_view mac_key) {
    const auto wrong = fail(ErrorCode::InvalidArgument, "this is no head as it was written");
    const Result<json::value> parsed = parse_json(text);
    const json::object* object = parsed ? parsed->if_object() : nullptr;
    if (object == nullptr) {
        return wrong;
    }
    try {
        Head head{.file = object->at("file").to_number<std::uint64_t>(),
                  .size = object->at("size").to_number<std::uint64_t>(),
                  .end = {.seq = object->at("seq").to_number<std::uint64_t>(),
                          .hash = std::string(object->at("hash").as_string())},
                  .signed_seq = object->at("signed").to_number<std::uint64_t>(),
                  .signed_at = object->at("signed_at").to_number<std::int64_t>(),
                  .begun_at = object->at("begun_at").to_number<std::int64_t>()};
        const std::string mac(object->at("mac").as_string());
        if (head.end.hash.size() != kHashDigits || mac.size() != kHashDigits ||
            with_mac(text_of(head), mac) != text ||
            (!mac_key.empty() && head_mac_of(text_of(head), mac_key) != mac)) {
            return wrong;
        }
        return head;
    } catch (const std::exception&) {  // of Boost.JSON, for what is missing or of another type
        return wrong;
    }
}

}  // namespace belljar::audit
