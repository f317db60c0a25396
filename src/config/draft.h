#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/origin.h"
#include "config/problems.h"
#include "config/schema.h"
#include "config/value.h"

namespace belljar::config {

// Settings while the sources are applied to them, weakest first.
class Draft {
   public:
    // Starts with the defaults of the schema.
    Draft();

    // A value that is not allowed becomes a problem and changes nothing.
    void set(const Key& key, const RawValue& value, Origin origin);
    void add_problem(std::string problem) { problems_.add(std::move(problem)); }
    [[nodiscard]] const Problems& problems() const { return problems_; }

    [[nodiscard]] Settings& settings() { return settings_; }
    [[nodiscard]] Origin& origin_of(const Key& key);
    // "limits.timeout is 10m (belljar.toml:3)"
    [[nodiscard]] std::string describe(const Key& key);

   private:
    Settings settings_;
    std::vector<Origin> origins_;  // in the order of all_keys()
    Problems problems_;
};

}  // namespace belljar::config
