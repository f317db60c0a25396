#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "execution/conversation.h"

namespace belljar::api {

// The parameters of a query. One that is not known, given twice or no text is refused: whoever
// misspells a filter must not be shown everything. Errors begin with the name.
class Query {
   public:
    [[nodiscard]] static Result<Query> parse(std::string_view query,
                                             std::initializer_list<std::string_view> known);

    [[nodiscard]] std::optional<std::string> text(std::string_view name) const;

    struct Range {
        std::uint64_t least = 0;
        std::uint64_t most = 0;
    };
    [[nodiscard]] Result<std::optional<std::uint64_t>> number(std::string_view name,
                                                              Range range) const;
    [[nodiscard]] Result<std::optional<execution::WallTime>> time(std::string_view name) const;

   private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace belljar::api
