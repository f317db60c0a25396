#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/http_message.h"
#include "access/rights.h"
#include "base/clock.h"

namespace belljar::access {

// How fast requests may come: a bucket of `burst` that fills up evenly, so many in a minute.
struct RateRule {
    std::uint32_t per_minute = 0;  // 0: as fast as they like
    std::uint32_t burst = 0;       // 0: a minute's worth

    [[nodiscard]] double capacity() const { return burst > 0 ? burst : per_minute; }
};

// Slows down who asks too much: each principal by its own bucket, all of them together by another,
// and whoever shows no valid token by its address. A principal's refused requests take nothing of
// the common bucket. The number of buckets is bounded; the one that was not used for longest goes
// first, and is as good as full by then unless far more callers come than there are buckets. On
// the I/O thread.
class RateLimiter {
   public:
    struct Rules {
        RateRule each{};
        RateRule all{};
        RateRule unknown{};
    };

    // What is told of a bucket.
    struct Standing {
        std::string_view policy{};
        std::uint32_t quota = 0;  // in a minute
        std::uint32_t remaining = 0;
        std::chrono::seconds reset{};  // until all of it is there again
    };

    struct Verdict {
        std::optional<std::chrono::seconds> retry_after{};  // nothing: it may go on
        std::optional<Standing> standing{};                 // nothing: there is no limit
    };

    static constexpr std::size_t kMostBuckets = 16'384;  // of principals, and of addresses

    explicit RateLimiter(Rules rules, std::size_t most_buckets = kMostBuckets);

    // From now on; what has been used stays used.
    void set_rules(const Rules& rules) { rules_ = rules; }

    // One request of this caller.
    Verdict take(const Caller& caller, TimePoint now);
    // One request from this address that shows no valid token.
    Verdict take_unknown(std::string_view client, TimePoint now);
    // How the caller stands, without a request.
    [[nodiscard]] Verdict look(const Caller& caller, TimePoint now);

    [[nodiscard]] std::uint64_t refused() const { return refused_; }

   private:
    struct Bucket {
        double level = 0;
        TimePoint filled{};
    };

    // Those that were used last come first.
    class Buckets {
       public:
        explicit Buckets(std::size_t most) : most_(most) {}
        // Full if it is new.
        Bucket& find(std::string_view key, const RateRule& rule, TimePoint now);

       private:
        struct Entry {
            std::string key{};
            Bucket bucket{};
        };
        std::size_t most_;
        std::list<Entry> entries_;
        std::map<std::string, std::list<Entry>::iterator, std::less<>> by_key_;
    };

    [[nodiscard]] RateRule rule_of(const Caller& caller) const;
    static void fill(Bucket& bucket, const RateRule& rule, TimePoint now);
    static Standing standing_of(std::string_view policy, const Bucket& bucket,
                                const RateRule& rule);
    Verdict refuse(std::string_view policy, const Bucket& bucket, const RateRule& rule);

    Rules rules_;
    Buckets principals_;
    Buckets addresses_;
    Bucket all_;
    bool all_begun_ = false;
    std::uint64_t refused_ = 0;
};

// RateLimit-Policy and RateLimit, as the IETF draft on them has it; none without a limit.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> rate_headers(
    const RateLimiter::Verdict& verdict);

// 429 with these headers and Retry-After.
[[nodiscard]] HttpResponse refuse_rate(const RateLimiter::Verdict& verdict);

// What of an address counts: all of it, of IPv6 the network, since a host has as many of those
// addresses as it likes.
[[nodiscard]] std::string rate_key(std::string_view client);

}  // namespace belljar::access
