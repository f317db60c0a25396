#include "privacy/masker.h"

#include <algorithm>
#include <array>

namespace belljar::privacy {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

}  // namespace

void Masker::set_context(std::string_view context) {
    window_ = context.substr(context.size() - std::min(context.size(), Text::kLookBehind));
    place_ = window_.size();
}

std::string Masker::feed(std::string_view data) {
    window_ += data;
    return scan(Rest::Open);
}

std::string Masker::finish() {
    std::string out = scan(Rest::Ended);
    window_.clear();
    place_ = 0;
    more_ = 0;
    return out;
}

std::string Masker::scan(Rest rest) {
    std::string out;
    swallow_rest_of_key(out);
    Text text(window_, rest);
    std::size_t copied = place_;
    at_ = encoded_ = place_;
    look_for_email(text, rest);
    while (true) {
        const bool expected = email_.end != 0 && email_.begin < limit_;
        place_ = next_start(place_, expected ? email_.begin : limit_);
        if (place_ >= limit_) {
            break;
        }
        text.begin_match();
        const Match match = expected && place_ == email_.begin
                                ? Match{.end = email_.end, .type = Type::Email}
                                : match_at(text, place_);
        if (text.undecided()) {
            break;
        }
        if (match.end == 0) {
            ++place_;
            continue;
        }
        out.append(window_, copied, place_ - copied);
        put(match, out);
        swallow_rest_of_key(out);
        copied = place_;
        if (place_ > limit_ || (email_.end != 0 && place_ > email_.begin)) {
            look_for_email(text, rest);
        }
    }
    out.append(window_, copied, place_ - copied);
    const std::size_t kept = std::min(place_, Text::kLookBehind);
    window_.erase(0, place_ - kept);
    place_ = kept;
    return out;
}

// Nothing but an address begins inside a word.
std::size_t Masker::next_start(std::size_t place, std::size_t stop) const {
    bool inside = place > 0 && is(window_[place - 1], kWord);
    for (; place < stop; ++place) {
        const Classes classes = kClasses[static_cast<unsigned char>(window_[place])];
        if (!inside && (classes & (kWord | kOpening)) != 0) {
            return place;
        }
        inside = (classes & kWord) != 0;
    }
    return place;
}

Masker::Match Masker::match_at(Text& text, std::size_t place) const {
    const char first = text.at(place);
    const bool key = is(first, kWord) || first == '+' || first == '/';
    if (has(Type::ApiKey) && key) {
        if (const KeyMatch found = match_api_key(text, place); found.end != 0) {
            return {.end = found.end, .type = Type::ApiKey, .more = found.more};
        }
    }
    struct Candidate {
        Type type;
        bool possible;
        std::size_t (*match)(Text&, std::size_t);
    };
    const bool digit = is(first, kDigit);
    const bool hex = is(first, kHex);
    const std::array<Candidate, 6> candidates{
        {{Type::Iban, is(first, kLetter), match_iban},
         {Type::CreditCard, digit, match_card},
         {Type::Ssn, digit, match_ssn},
         {Type::IpAddress, hex || first == ':', match_ip_address},
         {Type::MacAddress, hex, match_mac_address},
         {Type::Phone, digit || first == '+' || first == '(', match_phone}}};
    for (const Candidate& candidate : candidates) {
        if (candidate.possible && has(candidate.type)) {
            if (const std::size_t end = candidate.match(text, place); end != 0) {
                return {.end = end, .type = candidate.type};
            }
        }
    }
    return {};
}

std::size_t Masker::find_sign(std::size_t from) {
    const std::string_view text = window_;
    if (at_ != kNowhere && at_ <= from) {
        at_ = text.find('@', from);
    }
    if (encoded_ != kNowhere && encoded_ <= from) {
        encoded_ = text.find("%40", from);
    }
    return std::min(at_, encoded_);
}

void Masker::look_for_email(Text& text, Rest rest) {
    email_ = {};
    limit_ = window_.size();
    if (!has(Type::Email)) {
        return;
    }
    for (std::size_t sign = find_sign(place_); sign != kNowhere; sign = find_sign(sign + 1)) {
        text.begin_match();
        const EmailMatch match = match_email(text, place_, sign);
        if (text.undecided()) {
            limit_ = match.begin;
            return;
        }
        if (match.end != 0) {
            email_ = match;
            break;
        }
    }
    if (rest == Rest::Open) {
        limit_ = find_open_email(text, place_);
    }
}

void Masker::put(const Match& match, std::string& out) {
    ++counts_.at(index_of(match.type));
    if (fill_ == Fill::Mark) {
        out += mark_of(match.type);
    } else {
        out.append(match.end - place_, '*');
    }
    place_ = match.end;
    more_ = match.more;
}

void Masker::swallow_rest_of_key(std::string& out) {
    const std::size_t begin = place_;
    while (place_ < window_.size() && is(window_[place_], more_)) {
        ++place_;
    }
    more_ = place_ < window_.size() ? Classes{0} : more_;
    if (fill_ == Fill::Stars) {
        out.append(place_ - begin, '*');
    }
}

std::string mask(std::string_view text, TypeSet types, Counts& counts, std::string_view context) {
    Masker masker(types);
    masker.set_context(context);
    std::string out = masker.feed(text);
    out += masker.finish();
    for (std::size_t index = 0; index < kTypeCount; ++index) {
        counts.at(index) += masker.counts().at(index);
    }
    return out;
}

}  // namespace belljar::privacy
