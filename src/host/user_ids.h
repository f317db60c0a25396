#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belljar::host {

// User ids from `first` on, and whose they are.
struct IdRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::string owner{};

    [[nodiscard]] bool overlaps(const IdRange& other) const;
    [[nodiscard]] bool contains(const IdRange& other) const;
};

// The accounts in the text of /etc/passwd, one id each.
[[nodiscard]] std::vector<IdRange> parse_accounts(std::string_view passwd);
// Ids that accounts may use for their own user namespaces, out of /etc/subuid.
[[nodiscard]] std::vector<IdRange> parse_subordinate_ids(std::string_view subuid);
// Ids that exist in this user namespace, out of /proc/self/uid_map.
[[nodiscard]] std::vector<IdRange> parse_id_map(std::string_view map);

struct UserIds {
    std::vector<IdRange> taken{};
    std::vector<IdRange> existing{};
};

[[nodiscard]] UserIds read_user_ids();

}  // namespace belljar::host
