// Bytes -> an Authorization header's token, and the JSON of a key set. Whatever comes in, nobody is
// let in: the only key there is has signed nothing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "access/access_token.h"
#include "access/gate.h"
#include "access/token_json.h"
#include "base/assert.h"

namespace {

using namespace belljar;

// The example of RFC 7517, appendix A.1.
constexpr std::string_view kKeys =
    R"({"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",)"
    R"("y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"1"}]})";

class FixedKeys final : public access::KeySource {
   public:
    FixedKeys() : set_(access::KeySet::parse(kKeys).value()) {}
    [[nodiscard]] const access::KeySet& keys() override { return set_; }
    bool ask_for_newer() override { return false; }

   private:
    access::KeySet set_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static FixedKeys keys;
    static access::AccessTokens tokens(
        {.issuer = "https://login.example",
         .audience = "https://jars.example/mcp",
         .algorithms = {access::Algorithm::Rs256, access::Algorithm::Es256}},
        keys);
    static const access::Gate gate({.token = "bj_0123456789abcdef", .access_tokens = &tokens});
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.starts_with("{")) {
        [[maybe_unused]] const auto set = access::KeySet::parse(text);
        [[maybe_unused]] const auto records = access::tokens_from_text(text);
        return 0;
    }
    const access::HttpRequest request{
        .headers = {{"Host", "localhost"}, {"Authorization", std::string(text)}}};
    BJ_ASSERT(gate.identify(request).has_value() == (text == "Bearer bj_0123456789abcdef"));
    BJ_ASSERT(!tokens.check(text, std::chrono::system_clock::now()));
    return 0;
}
