#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

struct _cjose_jwk_int;

namespace belljar::access {

// The signatures that are understood, all of them asymmetric: who can check one cannot make one.
enum class Algorithm { Rs256, Ps256, Es256 };

// "RS256" and so on; nothing for every other word, such as "none" and "HS256".
[[nodiscard]] std::optional<Algorithm> parse_algorithm(std::string_view name);

// One public key of an authorization server.
class PublicKey {
   public:
    struct Release {
        void operator()(_cjose_jwk_int* key) const;
    };
    using Handle = std::unique_ptr<_cjose_jwk_int, Release>;

    struct Facts {
        std::string id{};                     // empty: it has none
        std::vector<Algorithm> algorithms{};  // what it may be used for
    };

    PublicKey(Facts facts, Handle handle) : facts_(std::move(facts)), handle_(std::move(handle)) {}

    [[nodiscard]] const std::string& id() const { return facts_.id; }
    [[nodiscard]] bool serves(Algorithm algorithm) const;
    // The payload of a compact JWS, if this key has signed it.
    [[nodiscard]] std::optional<std::string> open(const std::string& compact) const;

   private:
    Facts facts_;
    Handle handle_;
};

// A JSON Web Key Set (RFC 7517).
class KeySet {
   public:
    static constexpr Bytes kTextLimit = kibibytes(256);
    static constexpr std::size_t kMostKeys = 64;

    KeySet() = default;  // no keys

    // Keys of kinds that are not understood, for other uses, or too weak are left out. Fails if
    // none is left.
    static Result<KeySet> parse(std::string_view text);

    // The key with this id for this algorithm; without an id the only key that fits. nullptr if
    // there is none.
    [[nodiscard]] const PublicKey* find(const std::optional<std::string>& id,
                                        Algorithm algorithm) const;
    [[nodiscard]] std::size_t size() const { return keys_.size(); }

   private:
    std::vector<PublicKey> keys_;
};

// Where the keys come from. Used on the I/O thread.
class KeySource {
   public:
    KeySource() = default;
    KeySource(const KeySource&) = delete;
    KeySource& operator=(const KeySource&) = delete;
    virtual ~KeySource() = default;

    // The keys as they are now. Never waits for a network.
    [[nodiscard]] virtual const KeySet& keys() = 0;
    // Somebody shows a token of a key that is not there. True if newer keys are on their way, so
    // that trying again soon can help.
    virtual bool ask_for_newer() = 0;
};

}  // namespace belljar::access
