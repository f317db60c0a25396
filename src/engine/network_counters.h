#pragma once

#include <string_view>
#include <vector>

#include "base/fd.h"
#include "execution/governance.h"
#include "execution/raw_exit.h"

namespace belljar::engine {

// What the kernel has counted in a network, by the text of its files snmp and snmp6. Names that are
// not there count nothing.
[[nodiscard]] execution::NetworkAttempts parse_network_counters(std::string_view text);

// The kernel's counters of one jar's network. Without files, which come with the jar's first
// internet socket, nothing is read and nothing has been tried.
class NetworkCounters {
   public:
    NetworkCounters() = default;
    explicit NetworkCounters(std::vector<Fd> files) : files_(std::move(files)) {}

    // What has come since the last time, and the places that connect() was seen to name.
    [[nodiscard]] execution::NetworkAttempts read(const std::vector<execution::DeniedCall>& calls);

   private:
    std::vector<Fd> files_;
    execution::NetworkAttempts before_;
};

}  // namespace belljar::engine
