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

void mask_tokens(std::string& text) {
    for (std::size_t at = text.find(kTokenMark); at != std::string::npos;
         at = text.find(kTokenMark, at + kMask.size())) {
        std::size_t end = at + kTokenMark.size();
        while (end < text.size() && is_of_token(text[end])) {
            ++end;
        }
        if (end - at - kTokenMark.size() >= kShortestToken) {
            text.replace(at, end - at, kMask);
        }
    }
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
        for (std::size_t at = cleaned.find(secret); at != std::string::npos;
             at = cleaned.find(secret, at + kMask.size())) {
            cleaned.replace(at, secret.size(), kMask);
        }
    }
    mask_tokens(cleaned);
    if (cleaned.size() > limit) {
        cleaned.resize(utf8_beginning(cleaned, limit).size());
    }
    return cleaned;
}

}  // namespace belljar::audit
