#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "execution/principal_limits.h"
#include "execution/state_record.h"

namespace belljar::engine {

// Lets a principal begin a run as long as its day (UTC) is not used up. What runs have used is
// counted elsewhere: each as it starts, its CPU time at its end. Here only those are known that are
// still to start, so that many at once do not slip through together. CPU time is looked at before a
// run: the last one may go over. On the I/O thread; outlives its reservations.
class DailyQuota {
   public:
    using WallTime = std::chrono::system_clock::time_point;

    // A run that is to start.
    class Reservation {
       public:
        Reservation(DailyQuota& quota, std::string principal)
            : quota_(&quota), principal_(std::move(principal)) {}
        Reservation(Reservation&& other) noexcept
            : quota_(std::exchange(other.quota_, nullptr)),
              principal_(std::move(other.principal_)) {}
        Reservation& operator=(Reservation&&) = delete;
        Reservation(const Reservation&) = delete;
        Reservation& operator=(const Reservation&) = delete;
        ~Reservation() { end(); }

        // It has started, and is counted elsewhere.
        void end();

       private:
        DailyQuota* quota_;
        std::string principal_;
    };

    // QuotaReached, with the time until the day is over.
    Result<Reservation> reserve(const std::string& principal,
                                const execution::PrincipalLimits& limits,
                                const execution::DailyUsage& used, WallTime now);

   private:
    void give_back(const std::string& principal);

    std::map<std::string, std::uint64_t> to_start_;  // by principal
};

// Until the next day begins in UTC: from one second to a whole day.
[[nodiscard]] std::chrono::seconds until_midnight(DailyQuota::WallTime now);

}  // namespace belljar::engine
