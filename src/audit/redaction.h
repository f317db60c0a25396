#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belljar::audit {

// Makes text of others fit for a record: valid UTF-8, not too long, and without secrets: those of
// the settings, and whatever looks like a token of this server. Immutable; used by any thread.
class Redaction {
   public:
    Redaction() = default;
    explicit Redaction(std::vector<std::string> secrets);

    [[nodiscard]] std::string clean(std::string_view text, std::size_t limit) const;
    [[nodiscard]] std::string clean(std::string_view text) const { return clean(text, 1024); }

   private:
    std::vector<std::string> secrets_;
};

}  // namespace belljar::audit
