#include "storage/signed_url.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <map>

#include "base/base64.h"
#include "base/id.h"
#include "base/percent.h"
#include "crypto/digest.h"
#include "crypto/seal.h"

namespace belljar::storage {
namespace {

using execution::WallTime;
using std::chrono::seconds;

// No text of a legacy address begins so: no conversation's name has such a character. Else whoever
// may choose names could have a key signed.
constexpr std::string_view kSigningPurpose =
    "\x01"
    "file addresses: sign";
constexpr std::string_view kSealingPurpose =
    "\x01"
    "file addresses: owner";
constexpr std::size_t kPadding = 16;  // so that the length of a name is not told
constexpr std::size_t kMarkBytes = 16;
constexpr std::size_t kMostQuery = 4096;
constexpr std::size_t kMostExpiryDigits = 11;  // seconds; some 3,000 years

constexpr const char* kSecretFile = "file_secret";
constexpr const char* kNewSecretFile = "file_secret.new";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kShortestSecret = 32;

void add_field(std::string& text, std::string_view field) {
    for (int shift = 56; shift >= 0; shift -= 8) {
        text += static_cast<char>((static_cast<std::uint64_t>(field.size()) >> shift) & 0xFF);
    }
    text += field;
}

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

std::string encode_base64url(std::string_view data) {
    std::string text = encode_base64(data);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    text.erase(text.find_last_not_of('=') + 1);
    return text;
}

std::int64_t seconds_of(WallTime time) {
    return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}

std::string expiry_text(const std::optional<WallTime>& expires) {
    return expires ? std::to_string(seconds_of(*expires)) : "never";
}

// Only the one way in which issue() writes a time.
std::optional<WallTime> parse_expiry(std::string_view text) {
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool plain = !text.empty() && text.size() <= kMostExpiryDigits && text.front() > '0' &&
                       text.front() <= '9' && error == std::errc() &&
                       end == text.data() + text.size();
    // What the clock's type cannot hold is later than everything.
    constexpr std::int64_t kLatest =
        std::chrono::duration_cast<seconds>(WallTime::max().time_since_epoch()).count();
    return plain && count < kLatest ? std::optional(WallTime(seconds(count))) : std::nullopt;
}

using Fields = std::map<std::string, std::string, std::less<>>;

// Nothing if something else stands in the query, or something stands there twice.
std::optional<Fields> read_query(std::string_view query) {
    if (query.size() > kMostQuery) {
        return std::nullopt;
    }
    const std::optional<QueryValues> values = parse_query(query);
    if (!values) {
        return std::nullopt;
    }
    constexpr std::array<std::string_view, 4> kKnown{"by", "exp", "once", "sig"};
    Fields fields;
    for (const auto& [name, value] : *values) {
        const bool known = std::ranges::find(kKnown, name) != kKnown.end();
        if (!known || value.empty() || !fields.emplace(name, value).second) {
            return std::nullopt;
        }
    }
    return fields;
}

std::string padded(std::string text) {
    text += '\x01';
    text.append((kPadding - text.size() % kPadding) % kPadding, '\0');
    return text;
}

std::optional<std::string> without_padding(std::string text) {
    const std::size_t end = text.find_last_not_of('\0');
    if (end == std::string::npos || text[end] != '\x01') {
        return std::nullopt;
    }
    text.resize(end);
    return text;
}

Result<std::string> read_secret(const Fd& file) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("fstat file_secret"));
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077U) != 0) {
        return fail(ErrorCode::Denied,
                    "the file file_secret in the data directory can be read by others; make it "
                    "private (chmod 600), or delete it, which ends all addresses of files");
    }
    BJ_TRY(std::string secret, read_all(file, kibibytes(4)));
    secret.erase(std::find(secret.begin(), secret.end(), '\n'), secret.end());
    if (secret.size() < kShortestSecret) {
        return fail(ErrorCode::Denied,
                    "the file file_secret in the data directory holds no usable secret; delete it "
                    "to get a new one");
    }
    return secret;
}

// Complete before it has its name: a crash leaves no half-written secret behind.
Result<std::string> create_secret(const Fd& directory) {
    std::string secret = random_hex(kSecretBytes);
    ::unlinkat(directory.get(), kNewSecretFile, 0);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const Fd file(::openat(directory.get(), kNewSecretFile, kFlags, 0600));
    if (!file.valid()) {
        return fail(system_error("create file_secret"));
    }
    BJ_TRY_VOID(write_all(file, secret + "\n"));
    if (::fsync(file.get()) != 0 ||
        ::renameat(directory.get(), kNewSecretFile, directory.get(), kSecretFile) != 0) {
        return fail(system_error("store file_secret"));
    }
    return secret;
}

}  // namespace

UrlSigner::UrlSigner(Options options)
    : options_(std::move(options)),
      signing_key_(crypto::hmac_sha256(options_.secret, kSigningPurpose)),
      sealing_key_(crypto::hmac_sha256(options_.secret, kSealingPurpose)) {}

std::string UrlSigner::signature_of(std::string_view method, const Grant& grant) const {
    std::string text;
    add_field(text, "belljar file address 1");
    add_field(text, method == "HEAD" ? "GET" : method);
    add_field(text, grant.file.principal);
    add_field(text, grant.file.conversation_id);
    add_field(text, grant.file.path);
    add_field(text, expiry_text(grant.expires));
    add_field(text, grant.once);
    return hexadecimal(crypto::hmac_sha256(signing_key_, text));
}

// Zero: for ever.
Duration UrlSigner::allowed(std::optional<Duration> wanted) const {
    const Duration chosen = wanted.value_or(options_.lifetime);
    const bool unbounded = options_.maximum == Duration::zero();
    if (chosen <= Duration::zero()) {
        return unbounded ? Duration::zero() : options_.maximum;
    }
    return unbounded ? chosen : std::min(chosen, options_.maximum);
}

UrlSigner::Issued UrlSigner::issue(const Order& order, WallTime now) const {
    Grant grant{.file = order.file};
    if (const Duration lifetime = allowed(order.lifetime); lifetime > Duration::zero()) {
        // Whole seconds, since the address has no others; never more than was allowed.
        const auto whole = std::max(std::chrono::duration_cast<seconds>(lifetime), seconds(1));
        grant.expires = WallTime(seconds(seconds_of(now)) + whole);
    }
    if (order.use == Use::Single) {
        grant.once = random_hex(kMarkBytes);
    }
    std::string query;
    if (!grant.file.principal.empty()) {
        const std::string owner = crypto::seal(sealing_key_, padded(grant.file.principal));
        query += "by=" + encode_base64url(owner) + "&";
    }
    if (grant.expires) {
        query += "exp=" + expiry_text(grant.expires) + "&";
    }
    if (!grant.once.empty()) {
        query += "once=" + grant.once + "&";
    }
    query += "sig=" + signature_of("GET", grant);
    return {
        .url = fmt::format("{}/files/{}/{}?{}", base_, percent_encoded(grant.file.conversation_id),
                           percent_encoded(grant.file.path, "/"), query),
        .expires = grant.expires};
}

std::optional<UrlSigner::Grant> UrlSigner::verify(const Shown& shown, WallTime now) const {
    const std::optional<Fields> fields = read_query(shown.query);
    if (!fields || !fields->contains("sig")) {
        return std::nullopt;
    }
    Grant grant{.file = {.conversation_id = std::string(shown.conversation_id),
                         .path = std::string(shown.path)}};
    const std::string& signature = fields->find("sig")->second;
    if (const auto owner = fields->find("by"); owner != fields->end()) {
        const Result<std::string> sealed = decode_base64url(owner->second);
        std::optional<std::string> text =
            sealed ? crypto::unseal(sealing_key_, *sealed) : std::nullopt;
        text = text ? without_padding(std::move(*text)) : std::nullopt;
        if (!text || text->empty()) {
            return std::nullopt;
        }
        grant.file.principal = std::move(*text);
    }
    if (const auto expiry = fields->find("exp"); expiry != fields->end()) {
        grant.expires = parse_expiry(expiry->second);
        if (!grant.expires) {
            return std::nullopt;
        }
    }
    if (const auto once = fields->find("once"); once != fields->end()) {
        grant.once = once->second;
    }
    bool signed_so = equal_in_constant_time(signature, signature_of(shown.method, grant));
    const bool reads = shown.method == "GET" || shown.method == "HEAD";
    if (options_.legacy == Legacy::Accepted && reads && fields->size() == 1) {
        const std::string text = grant.file.conversation_id + "/" + grant.file.path;
        const std::string legacy = hexadecimal(crypto::hmac_sha256(options_.secret, text));
        signed_so = equal_in_constant_time(signature, legacy) || signed_so;
    }
    const bool over = grant.expires && now >= *grant.expires;
    return signed_so && !over ? std::optional(std::move(grant)) : std::nullopt;
}

Result<std::string> load_or_create_file_secret(const Fd& directory) {
    const Fd file(::openat(directory.get(), kSecretFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.valid()) {
        return read_secret(file);
    }
    if (errno != ENOENT) {
        return fail(system_error("open file_secret"));
    }
    return create_secret(directory);
}

}  // namespace belljar::storage
