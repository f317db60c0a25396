#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/trail_place.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::audit {

// The first thing that is wrong.
struct Fault {
    std::string file{};
    std::uint64_t line = 0;  // from 1; 0: the file as a whole
    std::uint64_t seq = 0;   // of the record that was expected there; 0: none
    std::string why{};
};

struct VerificationReport {
    std::optional<Fault> fault{};
    std::uint64_t files = 0;
    std::uint64_t records = 0;
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    std::string last_hash{};
    std::uint64_t signatures = 0;
    std::uint64_t signed_seq = 0;  // everything up to here is covered by a signature
    std::string signed_at{};
    std::uint64_t erased = 0;
    std::string key{};                 // its id
    std::vector<std::string> notes{};  // what is not wrong, but should be known

    [[nodiscard]] bool intact() const { return !fault; }
};

struct VerificationWish {
    // PEM that was kept elsewhere; empty: the one beside the trail, which whoever rewrites all of
    // it could have replaced.
    std::string public_key{};
    const std::atomic<bool>* stop = nullptr;
};

// Reads all of the trail, in bounded memory. Works beside those who write it. The error means that
// it could not be looked at: Cancelled if it was stopped, NotFound if there is no trail.
[[nodiscard]] Result<VerificationReport> verify_trail(const Fd& directory,
                                                      const VerificationWish& wish = {});

}  // namespace belljar::audit
