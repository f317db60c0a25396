#include "access/access_token.h"

#include <cjose/cjose.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>

#include "base/base64.h"
#include "base/json.h"

namespace belljar::access {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr std::int64_t kNow = 1'800'000'000;
const system_clock::time_point kNowTime{seconds(kNow)};
constexpr const char* kIssuer = "https://login.example";
constexpr const char* kAudience = "https://jars.example/mcp";

std::string base64url(std::string_view data) {
    std::string text = encode_base64(data);
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    text.erase(std::find(text.begin(), text.end(), '='), text.end());
    return text;
}

// A key pair of an authorization server.
class Signer {
   public:
    explicit Signer(cjose_jwk_t* key) : key_(key) {}

    static Signer rsa(std::size_t bits = 2048) {
        cjose_err error{};
        constexpr std::array<std::uint8_t, 3> kExponent{1, 0, 1};
        return Signer(
            cjose_jwk_create_RSA_random(bits, kExponent.data(), kExponent.size(), &error));
    }
    static Signer ec(cjose_jwk_ec_curve curve = CJOSE_JWK_EC_P_256) {
        cjose_err error{};
        return Signer(cjose_jwk_create_EC_random(curve, &error));
    }
    static Signer secret(std::string_view bytes) {
        cjose_err error{};
        return Signer(cjose_jwk_create_oct_spec(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                bytes.size(), &error));
    }

    // The public part as it stands in a key set.
    [[nodiscard]] json::object published(json::object further) const {
        cjose_err error{};
        char* text = cjose_jwk_to_json(key_.get(), false, &error);
        json::object key = parse_json(text).value().get_object();
        std::free(text);
        for (const auto& [name, value] : further) {
            key[name] = value;
        }
        return key;
    }

    [[nodiscard]] std::string sign(const json::object& header, std::string_view payload) const {
        cjose_err error{};
        cjose_header_t* fields = cjose_header_new(&error);
        for (const auto& [name, value] : header) {
            if (value.is_string()) {
                cjose_header_set(fields, std::string(name).c_str(), value.get_string().c_str(),
                                 &error);
            } else {
                cjose_header_set_raw(fields, std::string(name).c_str(), to_text(value).c_str(),
                                     &error);
            }
        }
        cjose_jws_t* jws = cjose_jws_sign(key_.get(), fields,
                                          reinterpret_cast<const std::uint8_t*>(payload.data()),
                                          payload.size(), &error);
        const char* text = nullptr;
        EXPECT_TRUE(jws != nullptr && cjose_jws_export(jws, &text, &error)) << error.message;
        std::string compact = text == nullptr ? "" : text;
        cjose_jws_release(jws);
        cjose_header_release(fields);
        return compact;
    }

   private:
    PublicKey::Handle key_;
};

class FixedKeys final : public KeySource {
   public:
    [[nodiscard]] const KeySet& keys() override { return set; }
    bool ask_for_newer() override {
        ++asked;
        return on_its_way;
    }
    KeySet set;
    int asked = 0;
    bool on_its_way = false;
};

class AccessTokenTest : public testing::Test {
   protected:
    // Making a key takes a while; the tests share them.
    static const Signer& rsa() {
        static const Signer signer = Signer::rsa();
        return signer;
    }
    static const Signer& ec() {
        static const Signer signer = Signer::ec();
        return signer;
    }

    void SetUp() override {
        publish({rsa().published({{"kid", "r1"}}), ec().published({{"kid", "e1"}})});
    }
    void publish(json::array keys) {
        source.set = KeySet::parse(to_text(json::object{{"keys", std::move(keys)}})).value();
    }
    static json::object claims() {
        return {{"iss", kIssuer},
                {"aud", kAudience},
                {"sub", "ada"},
                {"exp", kNow + 300},
                {"scope", "run:exec other"}};
    }
    static json::object claims_with(std::string_view name, json::value value) {
        json::object changed = claims();
        changed[name] = std::move(value);
        return changed;
    }
    static json::object claims_without(std::string_view name) {
        json::object changed = claims();
        changed.erase(name);
        return changed;
    }
    static json::object rsa_header() { return {{"alg", "RS256"}, {"kid", "r1"}}; }
    static std::string signed_by_rsa(const json::object& content) {
        return rsa().sign(rsa_header(), to_text(content));
    }
    // The reason, or "taken".
    std::string verdict(const std::string& token) {
        const Result<Caller> caller = tokens.check(token, kNowTime);
        return caller ? "taken" : caller.error().message;
    }

    FixedKeys source;
    AccessTokens tokens{{.issuer = kIssuer,
                         .audience = kAudience,
                         .roles_claim = "realm_access.roles",
                         .algorithms = {Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256}},
                        source};
};

TEST_F(AccessTokenTest, TellsWhoItIsAndWhatItMayDo) {
    json::object content = claims();
    content["realm_access"] = json::object{{"roles", json::array{"auditor", "log-analysis", 7}}};
    const Caller caller = tokens.check(signed_by_rsa(content), kNowTime).value();
    EXPECT_EQ(caller.principal, "oauth:ada");
    Rights expected = rights_of_role("auditor").value();
    expected.add(Right::RunExec);
    EXPECT_EQ(caller.rights, expected);
    EXPECT_EQ(caller.tool_sets, std::vector<std::string>{"log-analysis"});
    EXPECT_EQ(caller.proof, Proof::AccessToken);
    EXPECT_EQ(caller.expires, kNowTime + seconds(300));
}

TEST_F(AccessTokenTest, TakesEverySignatureThatIsUnderstood) {
    const std::string payload = to_text(claims());
    EXPECT_EQ(verdict(rsa().sign({{"alg", "RS256"}, {"kid", "r1"}}, payload)), "taken");
    EXPECT_EQ(verdict(rsa().sign({{"alg", "PS256"}, {"kid", "r1"}}, payload)), "taken");
    EXPECT_EQ(verdict(ec().sign({{"alg", "ES256"}, {"kid", "e1"}}, payload)), "taken");
    EXPECT_EQ(verdict(rsa().sign({{"alg", "RS256"}, {"kid", "r1"}, {"typ", "at+jwt"}}, payload)),
              "taken");
    EXPECT_EQ(verdict(ec().sign({{"alg", "ES256"}}, payload)), "taken") << "the only EC key";
}

TEST_F(AccessTokenTest, TakesNoAlgorithmThatIsNotConfigured) {
    AccessTokens strict(
        {.issuer = kIssuer, .audience = kAudience, .algorithms = {Algorithm::Es256}}, source);
    EXPECT_FALSE(strict.check(signed_by_rsa(claims()), kNowTime));
    EXPECT_TRUE(
        strict.check(ec().sign({{"alg", "ES256"}, {"kid", "e1"}}, to_text(claims())), kNowTime));
}

TEST_F(AccessTokenTest, RefusesSignaturesThatAnybodyCouldMake) {
    const std::string kAlgorithm =
        "the access token is signed with an algorithm that is not accepted";
    const std::string payload = base64url(to_text(claims()));
    for (const std::string_view alg :
         {"none", "None", "NONE", "", "HS256", "HS512", "rs256", "RS1", "ES384", "EdDSA"}) {
        const std::string header = base64url(to_text(json::object{{"alg", alg}, {"kid", "r1"}}));
        EXPECT_EQ(verdict(header + "." + payload + ".AAAA"), kAlgorithm) << alg;
    }
    EXPECT_EQ(verdict(base64url("{\"kid\":\"r1\"}") + "." + payload + ".AAAA"), kAlgorithm);
    EXPECT_EQ(verdict(base64url("{\"alg\":[\"RS256\"]}") + "." + payload + ".AAAA"), kAlgorithm);
    const std::string none = base64url("{\"alg\":\"none\"}");
    EXPECT_EQ(verdict(none + "." + payload + "."), "the access token is malformed");
    // The public key of RS256 as the secret of HS256.
    const Signer confused = Signer::secret(to_text(rsa().published({{"kid", "r1"}})));
    EXPECT_EQ(verdict(confused.sign({{"alg", "HS256"}, {"kid", "r1"}}, to_text(claims()))),
              kAlgorithm);
}

TEST_F(AccessTokenTest, RefusesOtherKeys) {
    const std::string payload = to_text(claims());
    const std::string kUnknown = "the access token is signed with an unknown key";
    const std::string kWrong = "the signature of the access token is wrong";
    EXPECT_EQ(verdict(Signer::rsa().sign(rsa_header(), payload)), kWrong);
    EXPECT_EQ(verdict(rsa().sign({{"alg", "RS256"}, {"kid", "r2"}}, payload)), kUnknown);
    EXPECT_EQ(verdict(rsa().sign({{"alg", "RS256"}, {"kid", ""}}, payload)), kUnknown);
    EXPECT_EQ(verdict(rsa().sign({{"alg", "RS256"}, {"kid", "e1"}}, payload)), kUnknown)
        << "a key is good for its own kind of signature only";
    EXPECT_EQ(verdict(rsa().sign({{"alg", "RS256"}, {"kid", json::array{"r1"}}}, payload)),
              "the access token is malformed");
    EXPECT_EQ(source.asked, 3);
    std::string tampered = signed_by_rsa(claims());
    const std::size_t dot = tampered.find('.');
    tampered.replace(dot + 1, tampered.rfind('.') - dot - 1,
                     base64url(to_text(claims_with("sub", "root"))));
    EXPECT_EQ(verdict(tampered), kWrong);
    const std::string good = signed_by_rsa(claims());
    EXPECT_EQ(verdict(good.substr(0, good.size() - 2)), kWrong);
}

TEST_F(AccessTokenTest, AsksToComeBackWhileKeysAreOnTheirWay) {
    source.on_its_way = true;
    const Result<Caller> caller =
        tokens.check(rsa().sign({{"alg", "RS256"}, {"kid", "r2"}}, to_text(claims())), kNowTime);
    EXPECT_EQ(caller.error().code, ErrorCode::Unavailable);
    publish({rsa().published({{"kid", "r2"}})});
    EXPECT_TRUE(
        tokens.check(rsa().sign({{"alg", "RS256"}, {"kid", "r2"}}, to_text(claims())), kNowTime));
}

TEST_F(AccessTokenTest, RefusesClaimsThatDoNotFit) {
    const std::string kIssued = "the access token is from another issuer";
    const std::string kForOthers = "the access token is not for this server";
    const std::string kOver = "the access token has expired";
    const std::string kForEver = "the access token never expires";
    const std::string kEarly = "the access token is not valid yet";
    const std::string kNobody = "the access token names no subject";
    const std::vector<std::pair<json::object, std::string>> cases{
        {claims_with("iss", "https://evil.example"), kIssued},
        {claims_with("iss", "https://login.example/"), kIssued},
        {claims_with("iss", json::array{kIssuer}), kIssued},
        {claims_without("iss"), kIssued},
        {claims_with("aud", "https://other.example/mcp"), kForOthers},
        {claims_with("aud", "https://jars.example"), kForOthers},
        {claims_with("aud", json::array{}), kForOthers},
        {claims_with("aud", json::array{"a", json::array{kAudience}}), kForOthers},
        {claims_with("aud", json::object{{kAudience, true}}), kForOthers},
        {claims_without("aud"), kForOthers},
        {claims_with("exp", kNow - 31), kOver},
        {claims_with("exp", 0), kOver},
        {claims_with("exp", -1), kOver},
        {claims_with("exp", 1e300), kForEver},
        {claims_with("exp", "never"), kForEver},
        {claims_with("exp", nullptr), kForEver},
        {claims_without("exp"), kForEver},
        {claims_with("nbf", kNow + 31), kEarly},
        {claims_with("nbf", "now"), kEarly},
        {claims_with("iat", kNow + 3600), kEarly},
        {claims_with("sub", ""), kNobody},
        {claims_with("sub", 7), kNobody},
        {claims_with("sub", "a\nb"), kNobody},
        {claims_with("sub", json::string(256, 'a')), kNobody},
        {claims_without("sub"), kNobody}};
    for (const auto& [content, reason] : cases) {
        EXPECT_EQ(verdict(signed_by_rsa(content)), reason) << to_text(content);
    }
}

TEST_F(AccessTokenTest, AllowsForClocksThatDiffer) {
    EXPECT_EQ(verdict(signed_by_rsa(claims_with("exp", kNow - 29))), "taken");
    EXPECT_EQ(verdict(signed_by_rsa(claims_with("nbf", kNow + 29))), "taken");
    EXPECT_EQ(verdict(signed_by_rsa(claims_with("exp", static_cast<double>(kNow) + 0.5))), "taken");
    EXPECT_EQ(verdict(signed_by_rsa(claims_with("aud", json::array{"other", kAudience}))), "taken");
}

TEST_F(AccessTokenTest, RefusesWhatIsNoTokenAtAll) {
    const std::string good = signed_by_rsa(claims());
    const std::string deep =
        base64url(std::string(200, '[') + std::string(200, ']')) + good.substr(good.find('.'));
    for (const std::string& token :
         {std::string(), std::string("."), std::string(".."), std::string("a.b"), good + ".x",
          good + "=", good + " ", "+" + good, "!" + good, std::string("a.b.c"),
          base64url("[]") + good.substr(good.find('.')), deep,
          base64url(R"({"alg":"RS256","alg":"none","kid":"r1"})") + good.substr(good.find('.'))}) {
        EXPECT_EQ(verdict(token), "the access token is malformed") << token;
    }
    EXPECT_EQ(verdict(std::string(17'000, 'a') + good), "the access token is too long");
    const json::object critical{{"alg", "RS256"}, {"kid", "r1"}, {"crit", json::array{"exp"}}};
    EXPECT_EQ(verdict(rsa().sign(critical, to_text(claims()))),
              "the access token is of a kind that is not accepted");
    const json::object identity{{"alg", "RS256"}, {"kid", "r1"}, {"typ", "dpop+jwt"}};
    EXPECT_EQ(verdict(rsa().sign(identity, to_text(claims()))),
              "the access token is of a kind that is not accepted");
}

TEST_F(AccessTokenTest, RefusesClaimsThatTwoReadersCouldReadInTwoWays) {
    const std::string twice = R"({"sub":"ada","sub":"root",)" + to_text(claims()).substr(1);
    const std::string deep = R"({"x":)" + std::string(100, '[') + std::string(100, ']') + "," +
                             to_text(claims()).substr(1);
    for (const std::string& payload : {twice, deep, std::string("[]"), std::string("7"),
                                       std::string("{"), to_text(claims()) + "x"}) {
        EXPECT_EQ(verdict(rsa().sign(rsa_header(), payload)),
                  "the claims of the access token are malformed")
            << payload;
    }
}

TEST_F(AccessTokenTest, GivesNoRightsWithoutScopes) {
    for (const json::object& content :
         {claims_without("scope"), claims_with("scope", 7), claims_with("scope", "openid"),
          claims_with("scope", json::object{{"admin", true}})}) {
        const Caller caller = tokens.check(signed_by_rsa(content), kNowTime).value();
        EXPECT_TRUE(caller.rights.empty()) << to_text(content);
    }
    const Caller listed =
        tokens
            .check(signed_by_rsa(claims_with("scope", json::array{"run:exec", "sessions"})),
                   kNowTime)
            .value();
    EXPECT_EQ(listed.rights, (Rights{Right::RunExec, Right::Sessions}));
}

TEST_F(AccessTokenTest, KeySetsLeaveOutWhatCannotBeTrusted) {
    const auto parse = [](json::array keys) {
        return KeySet::parse(to_text(json::object{{"keys", std::move(keys)}}));
    };
    const json::object good = ec().published({{"kid", "e1"}});
    for (const json::object& bad :
         {rsa().published({{"use", "enc"}}), rsa().published({{"alg", "RSA-OAEP"}}),
          rsa().published({{"alg", "HS256"}}), rsa().published({{"key_ops", json::array{"sign"}}}),
          Signer::rsa(1024).published({}), Signer::ec(CJOSE_JWK_EC_P_384).published({}),
          json::object{{"kty", "oct"}, {"k", "c2VjcmV0"}, {"kid", "x"}},
          json::object{{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", "AAAA"}},
          json::object{{"kty", "RSA"}, {"n", "AQAB"}, {"e", "AQAB"}},
          json::object{{"kty", "EC"}, {"crv", "P-256"}, {"x", "AAAA"}, {"y", "AAAA"}},
          json::object{{"kty", "RSA"}}, json::object{}}) {
        EXPECT_FALSE(parse({bad})) << to_text(bad);
        EXPECT_EQ(parse({bad, good, 7}).value().size(), 1U) << to_text(bad);
    }
    EXPECT_FALSE(parse({}));
    json::array many;
    for (int index = 0; index < 65; ++index) {
        many.push_back(good);
    }
    EXPECT_FALSE(parse(many));
    for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"),
                                    std::string("{\"keys\":{}}"), std::string(300'000, ' ')}) {
        EXPECT_FALSE(KeySet::parse(text));
    }
    EXPECT_EQ(parse({good, good}).value().find("e1", Algorithm::Es256), nullptr)
        << "nothing says which of the two is meant";
}

}  // namespace
}  // namespace belljar::access
