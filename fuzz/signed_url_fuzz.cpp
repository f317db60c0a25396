// The query of an address that a stranger has sent: nothing is granted but what was issued, in
// exactly this form.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/percent.h"
#include "storage/signed_url.h"

namespace {

using belljar::execution::FileName;
using belljar::execution::WallTime;
using belljar::storage::UrlSigner;

const WallTime kNow{std::chrono::seconds(1'800'000'000)};

// What the input tries to get, beginning with lines for conversation and path.
struct Try {
    std::string conversation{};
    std::string path{};
    std::string query{};
};

Try read(std::string_view text) {
    Try made;
    for (std::string* line : {&made.conversation, &made.path}) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        *line = std::string(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    made.query = std::string(text);
    return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const UrlSigner signer({.secret = "key", .legacy = UrlSigner::Legacy::Accepted});
    const Try attempt = read({reinterpret_cast<const char*>(data), size});
    const UrlSigner::Shown shown{.method = "GET",
                                 .conversation_id = attempt.conversation,
                                 .path = attempt.path,
                                 .query = attempt.query};
    if (signer.verify(shown, kNow)) {
        std::abort();  // 256 bits were guessed
    }
    // What is issued for these names is granted, and not with anything more in the query.
    const FileName file{.principal = attempt.query.substr(0, 100),
                        .conversation_id = attempt.conversation,
                        .path = attempt.path};
    const std::string url = signer.issue({.file = file}, kNow).url;
    const std::string query = url.substr(url.rfind('?') + 1);
    UrlSigner::Shown issued = shown;
    issued.query = query;
    const auto grant = signer.verify(issued, kNow);
    if (!grant || grant->file != file) {
        std::abort();
    }
    const std::string longer = query + "&" + attempt.query;
    issued.query = longer;
    if (attempt.query.find_first_not_of('&') != std::string::npos && signer.verify(issued, kNow)) {
        std::abort();
    }
    return 0;
}
