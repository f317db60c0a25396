#include "access/rate_limiter.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "access/gate.h"

namespace belljar::access {
namespace {

constexpr std::string_view kPrincipal = "principal";
constexpr std::string_view kServer = "server";
constexpr std::string_view kAddress = "address";
constexpr double kMinute = 60;

std::chrono::seconds whole_seconds(double seconds) {
    return std::chrono::seconds(static_cast<std::int64_t>(std::ceil(std::max(seconds, 0.0))));
}

}  // namespace

std::string rate_key(std::string_view client) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    const std::string text(client);
    if (!text.contains(':') || ::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) {
        return text;
    }
    constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
        return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
    }
    std::string network;
    for (std::size_t index = 0; index < 8; ++index) {
        network += fmt::format("{:02x}", bytes.at(index));
    }
    return network + "/64";
}

RateLimiter::RateLimiter(Rules rules, std::size_t most_buckets)
    : rules_(rules), principals_(most_buckets), addresses_(most_buckets) {}

RateLimiter::Bucket& RateLimiter::Buckets::find(std::string_view key, const RateRule& rule,
                                                TimePoint now) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front().bucket;
    }
    if (entries_.size() >= most_) {
        by_key_.erase(entries_.back().key);
        entries_.pop_back();
    }
    entries_.push_front(
        {.key = std::string(key), .bucket = {.level = rule.capacity(), .filled = now}});
    by_key_.emplace(std::string(key), entries_.begin());
    return entries_.front().bucket;
}

void RateLimiter::fill(Bucket& bucket, const RateRule& rule, TimePoint now) {
    const double passed = std::max(to_seconds(now - bucket.filled), 0.0);
    bucket.level = std::min(bucket.level + passed * rule.per_minute / kMinute, rule.capacity());
    bucket.filled = std::max(bucket.filled, now);
}

RateLimiter::Standing RateLimiter::standing_of(std::string_view policy, const Bucket& bucket,
                                               const RateRule& rule) {
    const double missing = rule.capacity() - bucket.level;
    return {.policy = policy,
            .quota = rule.per_minute,
            .remaining = static_cast<std::uint32_t>(std::max(std::floor(bucket.level), 0.0)),
            .reset = whole_seconds(missing * kMinute / rule.per_minute)};
}

RateLimiter::Verdict RateLimiter::refuse(std::string_view policy, const Bucket& bucket,
                                         const RateRule& rule) {
    ++refused_;
    const double wait = (1 - bucket.level) * kMinute / rule.per_minute;
    return {.retry_after = std::max(whole_seconds(wait), std::chrono::seconds(1)),
            .standing = standing_of(policy, bucket, rule)};
}

RateRule RateLimiter::rule_of(const Caller& caller) const {
    return caller.limits.requests_per_minute
               ? RateRule{.per_minute = *caller.limits.requests_per_minute}
               : rules_.each;
}

RateLimiter::Verdict RateLimiter::take(const Caller& caller, TimePoint now) {
    Verdict verdict;
    Bucket* own = nullptr;
    if (const RateRule rule = rule_of(caller); rule.per_minute > 0) {
        own = &principals_.find(caller.principal, rule, now);
        fill(*own, rule, now);
        if (own->level < 1) {
            return refuse(kPrincipal, *own, rule);
        }
        own->level -= 1;
        verdict.standing = standing_of(kPrincipal, *own, rule);
    }
    if (rules_.all.per_minute > 0) {
        if (!std::exchange(all_begun_, true)) {
            all_ = {.level = rules_.all.capacity(), .filled = now};
        }
        fill(all_, rules_.all, now);
        if (all_.level < 1) {
            if (own != nullptr) {
                own->level += 1;
            }
            return refuse(kServer, all_, rules_.all);
        }
        all_.level -= 1;
    }
    return verdict;
}

RateLimiter::Verdict RateLimiter::look(const Caller& caller, TimePoint now) {
    const RateRule rule = rule_of(caller);
    if (rule.per_minute == 0) {
        return {};
    }
    Bucket& bucket = principals_.find(caller.principal, rule, now);
    fill(bucket, rule, now);
    return {.standing = standing_of(kPrincipal, bucket, rule)};
}

RateLimiter::Verdict RateLimiter::take_unknown(std::string_view client, TimePoint now) {
    if (rules_.unknown.per_minute == 0) {
        return {};
    }
    Bucket& bucket = addresses_.find(rate_key(client), rules_.unknown, now);
    fill(bucket, rules_.unknown, now);
    if (bucket.level < 1) {
        return refuse(kAddress, bucket, rules_.unknown);
    }
    bucket.level -= 1;
    return {.standing = standing_of(kAddress, bucket, rules_.unknown)};
}

std::vector<std::pair<std::string, std::string>> rate_headers(const RateLimiter::Verdict& verdict) {
    if (!verdict.standing) {
        return {};
    }
    const RateLimiter::Standing& standing = *verdict.standing;
    return {{"RateLimit-Policy", fmt::format("\"{}\";q={};w=60", standing.policy, standing.quota)},
            {"RateLimit", fmt::format("\"{}\";r={};t={}", standing.policy, standing.remaining,
                                      standing.reset.count())}};
}

HttpResponse refuse_rate(const RateLimiter::Verdict& verdict) {
    const auto seconds = verdict.retry_after.value_or(std::chrono::seconds(1)).count();
    HttpResponse refusal = make_refusal(
        429, fmt::format("too many requests ({}); try again in {} s",
                         verdict.standing ? verdict.standing->policy : kServer, seconds));
    refusal.headers = rate_headers(verdict);
    refusal.headers.emplace_back("Retry-After", std::to_string(seconds));
    return refusal;
}

}  // namespace belljar::access
