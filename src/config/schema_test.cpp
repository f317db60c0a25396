#include "config/schema.h"

#include <gtest/gtest.h>

#include <set>

#include "config/value.h"

namespace belljar::config {
namespace {

TEST(ConfigSchema, EveryKeyIsCompleteAndItsDefaultIsAllowed) {
    for (const Key& key : all_keys()) {
        EXPECT_FALSE(key.help.empty()) << key.name;
        EXPECT_FALSE(key.help.ends_with('.')) << key.name;
        ASSERT_NE(key.slot, nullptr) << key.name;
        Settings settings;
        EXPECT_TRUE(store(settings, key, {.text = std::string(key.default_text)})) << key.name;
        EXPECT_EQ(text_of(settings, key), key.default_text) << key.name;
    }
}

TEST(ConfigSchema, BoundsAreInTheNotationOfTheKeyAndAllowed) {
    for (const Key& key : all_keys()) {
        EXPECT_EQ(key.minimum.empty(), key.maximum.empty()) << key.name;
        if (key.minimum.empty()) {
            continue;
        }
        Settings settings;
        EXPECT_TRUE(store(settings, key, {.text = std::string(key.minimum)})) << key.name;
        EXPECT_TRUE(store(settings, key, {.text = std::string(key.maximum)})) << key.name;
    }
}

TEST(ConfigSchema, DefaultsEqualThoseOfTheSettingsType) {
    Settings settings;
    for (const Key& key : all_keys()) {
        ASSERT_TRUE(store(settings, key, {.text = std::string(key.default_text)})) << key.name;
    }
    EXPECT_EQ(settings, Settings{});
}

TEST(ConfigSchema, NoTwoKeysShareANameAVariableOrAPlace) {
    std::set<std::string> names;
    std::set<Slot> places;
    Settings settings;
    for (const Key& key : all_keys()) {
        EXPECT_TRUE(names.insert(std::string(key.name)).second) << key.name;
        EXPECT_TRUE(names.insert(variable_name(key)).second) << key.name;
        EXPECT_TRUE(places.insert(key.slot(settings)).second) << key.name;
        for (const std::string_view alias : aliases_of(key)) {
            EXPECT_TRUE(names.insert(std::string(alias)).second) << alias;
        }
    }
}

TEST(ConfigSchema, KeysOfOneSectionStandTogether) {
    const std::vector<std::string_view> sections = section_names();
    EXPECT_EQ(std::set<std::string_view>(sections.begin(), sections.end()).size(), sections.size());
}

TEST(ConfigSchema, NamesVariablesAfterKeys) {
    EXPECT_EQ(variable_name(*find_key("limits.max_timeout")), "BELLJAR_LIMITS_MAX_TIMEOUT");
    EXPECT_EQ(find_key("limits.nothing"), nullptr);
    EXPECT_EQ(find_key(""), nullptr);
}

}  // namespace
}  // namespace belljar::config
