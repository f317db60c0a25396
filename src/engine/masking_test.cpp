#include "engine/masking.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "base/json.h"

namespace belljar::engine {
namespace {

using execution::RunResult;

const privacy::TypeSet kAll = privacy::TypeSet().set();

std::string masked_value(std::string json_text) {
    RunResult result{.result_json = std::move(json_text)};
    mask_result(kAll, result);
    return *result.result_json;
}

TEST(Masking, ReachesEveryTextOfTheReport) {
    RunResult result{.result_json = R"({"to": "a@b.de"})",
                     .result_repr = "{'to': 'a@b.de'}",
                     .variables = {"a@b.de"},
                     .error = execution::GuestError{.type = "ValueError",
                                                    .message = "bad address a@b.de",
                                                    .traceback = "... a@b.de ...",
                                                    .path = "/workspace/a@b.de"},
                     .denials = {{.what = "tried to reach 93.184.216.34:443"}},
                     .session = execution::CellNews{.notes = {"see a@b.de"}}};
    result.outputs.push_back({.bundle = {{"text/plain", "a@b.de"},
                                         {"text/html", "<b>a@b.de</b>"},
                                         {"image/svg+xml", "<text>a@b.de</text>"},
                                         {"application/json", R"(["a@b.de"])"},
                                         {"image/png", "a@b.de"}}});
    mask_result(kAll, result);
    EXPECT_EQ(result.result_json, R"({"to":"[EMAIL_REDACTED]"})");
    EXPECT_EQ(result.result_repr, "{'to': '[EMAIL_REDACTED]'}");
    EXPECT_EQ(result.variables.front(), "[EMAIL_REDACTED]");
    EXPECT_EQ(result.error->message, "bad address [EMAIL_REDACTED]");
    EXPECT_EQ(result.error->traceback, "... [EMAIL_REDACTED] ...");
    EXPECT_EQ(result.error->path, "/workspace/[EMAIL_REDACTED]");
    EXPECT_EQ(result.denials.front().what, "tried to reach [IP_REDACTED]:443");
    EXPECT_EQ(result.session->notes.front(), "see [EMAIL_REDACTED]");
    const auto& bundle = result.outputs.front().bundle;
    EXPECT_EQ(bundle.at("text/plain"), "[EMAIL_REDACTED]");
    EXPECT_EQ(bundle.at("text/html"), "<b>[EMAIL_REDACTED]</b>");
    EXPECT_EQ(bundle.at("image/svg+xml"), "<text>[EMAIL_REDACTED]</text>");
    EXPECT_EQ(bundle.at("application/json"), R"(["[EMAIL_REDACTED]"])");
    EXPECT_EQ(bundle.at("image/png"), "a@b.de");  // bytes of a picture
    EXPECT_EQ(result.masked.at("email"), 11U);
    EXPECT_EQ(result.masked.at("ip_address"), 1U);
}

TEST(Masking, HearsWhatAKeyAnnounces) {
    EXPECT_EQ(masked_value(R"({"phone":"4155550123","order":"4155550123"})"),
              R"({"phone":"[PHONE_REDACTED]","order":"4155550123"})");
    EXPECT_EQ(masked_value(R"({"phones":["4155550123",{"x":1}]})"),
              R"({"phones":["[PHONE_REDACTED]",{"x":1}]})");
}

TEST(Masking, MasksNumbersThatAreCards) {
    EXPECT_EQ(masked_value("[4111111111111111,4111111111111112,12,-1,1.5,true,null]"),
              R"(["[CC_REDACTED]",4111111111111112,12,-1,1.5E0,true,null])");
}

TEST(Masking, KeepsKeysApart) {
    const std::string shown = masked_value(R"({"a@b.de":1,"c@d.fr":2,"e@f.it":3})");
    const json::value value = parse_json(shown).value();
    EXPECT_EQ(value.get_object().size(), 3U);
    EXPECT_FALSE(shown.contains('@'));
}

TEST(Masking, ManyKeysThatComeOutAlikeTakeNoLongerEach) {
    constexpr int kHalf = 10'000;
    std::string object = "{";
    for (int number = 0; number < kHalf; ++number) {  // what keys that come later would be called
        object += fmt::format(R"("[EMAIL_REDACTED] {}":0,)", kHalf + number);
    }
    for (int number = 0; number < kHalf; ++number) {
        object += fmt::format(R"("u{}@b.de":1,)", number);
    }
    object.back() = '}';
    const TimePoint begun = Clock::now();
    const std::string shown = masked_value(object);
    EXPECT_LT(Clock::now() - begun, std::chrono::seconds(5));
    EXPECT_EQ(parse_json(shown).value().get_object().size(), std::size_t{2 * kHalf});
}

TEST(Masking, TakesWhatIsNoJsonForText) { EXPECT_EQ(masked_value("{a@b.de"), "{[EMAIL_REDACTED]"); }

TEST(Masking, MasksEverythingIfRulesCannotBeRead) {
    EXPECT_EQ(masked_types({.mask = {"email", "nonsense"}}), kAll);
    EXPECT_TRUE(masked_types({}).none());
    EXPECT_EQ(join({.mask = {"email"}}, {.mask = {"iban", "email"}}).mask,
              (std::vector<std::string>{"email", "iban"}));
}

TEST(Masking, KeepsPlacesInFiles) {
    execution::FilePart part{.content = "to a@b.de now"};
    part.file.mime = "text/plain";
    mask_part(kAll, part);
    EXPECT_EQ(part.content, "to ****** now");

    const std::string picture("\x89PNG\0a@b.de", 11);
    part.content = picture;
    part.file.mime = "application/octet-stream";
    mask_part(kAll, part);
    EXPECT_EQ(part.content, picture);
}

}  // namespace
}  // namespace belljar::engine
