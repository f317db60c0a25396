#include "audit/redaction.h"

#include <algorithm>

#include "base/utf8.h"

namespace belljar::audit {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::string_view kTokenMark = "bj_";
constexpr std::size_t kShortestToken = 16;  // after its mark
constexpr std::size_t kShortestSecret = 4;

bool is_of_token(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '_' || letter == '-';
}

// Each in one pass, however often it finds something: the text is a program's, or a caller's.
std::string without_secret(std::string_view text, std::string_view secret) {
    std::string masked;
    std::size_t begin = 0;
    for (std::size_t at = text.find(secret); at != std::string_view::npos;
         at = text.find(secret, begin)) {
        masked += text.substr(begin, at - begin);
        masked += kMask;
        begin = at + secret.size();
    }
    masked += text.substr(begin);
    return masked;
}

std::string without_tokens(std::string_view text) {
    std::string masked;
    std::size_t begin = 0;
    for (std::size_t at = text.find(kTokenMark); at != std::string_view::npos;
         at = text.find(kTokenMark, begin)) {
        const std::size_t letters = at + kTokenMark.size();
        std::size_t end = letters;
        while (end < text.size() && is_of_token(text[end])) {
            ++end;
        }
        masked += text.substr(begin, at - begin);
        masked += end - letters >= kShortestToken ? kMask : text.substr(at, end - at);
        begin = end;
    }
    masked += text.substr(begin);
    return masked;
}

}  // namespace

Redaction::Redaction(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
    std::erase_if(secrets_,
                  [](const std::string& secret) { return secret.size() < kShortestSecret; });
    // One that holds another goes first.
    std::ranges::sort(secrets_, std::ranges::greater(), &std::string::size);
}

std::string Redaction::clean(std::string_view text, std::size_t limit) const {
    std::string cleaned = make_valid_utf8(text);
    for (const std::string& secret : secrets_) {
        cleaned = without_secret(cleaned, secret);
    }
    cleaned = without_tokens(cleaned);
    if (cleaned.size() > limit) {
        cleaned.resize(utf8_beginning(cleaned, limit).size());
    }
    return cleaned;
}

}  // namespace belljar::audit
