#include "privacy/types.h"

#include <fmt/format.h>

#include <algorithm>

namespace belljar::privacy {
namespace {

struct Words {
    std::string_view name;
    std::string_view mark;
};

// In the order of Type.
constexpr std::array<Words, kTypeCount> kWords{{{"email", "[EMAIL_REDACTED]"},
                                                {"api_key", "[KEY_REDACTED]"},
                                                {"iban", "[IBAN_REDACTED]"},
                                                {"credit_card", "[CC_REDACTED]"},
                                                {"ssn", "[SSN_REDACTED]"},
                                                {"ip_address", "[IP_REDACTED]"},
                                                {"mac_address", "[MAC_REDACTED]"},
                                                {"phone", "[PHONE_REDACTED]"}}};

}  // namespace

std::string_view name_of(Type type) { return kWords.at(index_of(type)).name; }

std::string_view mark_of(Type type) { return kWords.at(index_of(type)).mark; }

Result<TypeSet> parse_types(const std::vector<std::string>& names) {
    TypeSet types;
    for (const std::string& name : names) {
        if (name == "all") {
            types.set();
            continue;
        }
        const auto* const found = std::ranges::find(kWords, name, &Words::name);
        if (found == kWords.end()) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("\"{}\" is no type of personal data; there are all, email, "
                                    "phone, ssn, credit_card, ip_address, iban, api_key and "
                                    "mac_address",
                                    name.substr(0, 64)));
        }
        types.set(static_cast<std::size_t>(found - kWords.begin()));
    }
    return types;
}

void add_counts(const Counts& counts, execution::MaskCounts& sum) {
    for (std::size_t index = 0; index < kTypeCount; ++index) {
        if (counts.at(index) > 0) {
            sum[std::string(kWords.at(index).name)] += counts.at(index);
        }
    }
}

}  // namespace belljar::privacy
