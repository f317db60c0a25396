#pragma once

#include <string_view>
#include <vector>

namespace belljar::host {

struct Landlock {
    int abi = 0;     // 0 if there is none
    int errata = 0;  // one bit per fixed bug that changed what is enforced
};

[[nodiscard]] Landlock probe_landlock();

// What the given ABI can fence, in the order in which the kernel learned it.
[[nodiscard]] std::vector<std::string_view> landlock_features(int abi);
// What only later ones can.
[[nodiscard]] std::vector<std::string_view> landlock_gaps(int abi);

}  // namespace belljar::host
