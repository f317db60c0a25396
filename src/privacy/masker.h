#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "privacy/matchers.h"
#include "privacy/text.h"
#include "privacy/types.h"

namespace belljar::privacy {

// What stands in the place of a value.
enum class Fill {
    Mark,   // "[EMAIL_REDACTED]"
    Stars,  // one for each byte, so that what follows stays where it is
};

// Masks one stream as it goes by. Bytes may be anything; those that are not part of a value come
// out as they went in. How the stream is cut into pieces makes no difference.
class Masker {
   public:
    // Never is more than this kept waiting.
    static constexpr std::size_t kMostHeld = 2 * kLongestMatch;

    explicit Masker(TypeSet types, Fill fill = Fill::Mark) : types_(types), fill_(fill) {}

    // Text that stands before the stream without being part of it: "phone: ".
    void set_context(std::string_view context);

    // What can be said for sure by now; the rest waits for what follows.
    [[nodiscard]] std::string feed(std::string_view data);
    // There is nothing more. Afterwards another stream may begin.
    [[nodiscard]] std::string finish();

    [[nodiscard]] std::size_t held() const { return window_.size() - place_; }
    [[nodiscard]] const Counts& counts() const { return counts_; }

   private:
    struct Match {
        std::size_t end = 0;
        Type type = Type::Email;
        Classes more = 0;
    };

    [[nodiscard]] std::string scan(Rest rest);
    [[nodiscard]] std::size_t next_start(std::size_t place, std::size_t stop) const;
    [[nodiscard]] Match match_at(Text& text, std::size_t place) const;
    // The next address from place_ on, and from where on what is there could become one.
    void look_for_email(Text& text, Rest rest);
    [[nodiscard]] std::size_t find_sign(std::size_t from);
    void put(const Match& match, std::string& out);
    void swallow_rest_of_key(std::string& out);
    [[nodiscard]] bool has(Type type) const { return types_.test(index_of(type)); }

    TypeSet types_;
    Fill fill_;
    Counts counts_{};
    std::string window_;     // what was looked at last, and what waits
    std::size_t place_ = 0;  // of the first byte that waits
    Classes more_ = 0;       // of the key that was found last; 0: it is over

    // Of the scan that is going on.
    EmailMatch email_{};
    std::size_t at_ = 0;       // the next @, unless it is before place_
    std::size_t encoded_ = 0;  // the next %40
    std::size_t limit_ = 0;    // what begins here or later waits
};

// A whole text at once.
[[nodiscard]] std::string mask(std::string_view text, TypeSet types, Counts& counts,
                               std::string_view context = {});

}  // namespace belljar::privacy
