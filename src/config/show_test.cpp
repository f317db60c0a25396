#include "config/show.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace belljar::config {
namespace {

std::string line_of(const std::string& table, std::string_view key) {
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(key)) {
            return line;
        }
    }
    return "";
}

TEST(ConfigShow, AlignsKeysValuesAndOrigins) {
    const Loaded loaded = load({.file_path = "belljar.toml",
                                .file_text = "limits.max_timeout = 5",
                                .environment = {{"LOG_LEVEL", "debug"}}})
                              .value();
    const std::string table = render(loaded);
    EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')),
              all_keys().size());
    const std::size_t column = line_of(table, "server.listen").find("default");
    EXPECT_EQ(line_of(table, "limits.timeout").find("default, lowered to limits.max_timeout"),
              column);
    EXPECT_EQ(line_of(table, "limits.max_timeout").find("belljar.toml:1"), column);
    EXPECT_EQ(line_of(table, "log.level").find("environment LOG_LEVEL"), column);
    EXPECT_NE(line_of(table, "server.data_dir").find("(not set)"), std::string::npos);
}

TEST(ConfigShow, NeverShowsASecret) {
    const Loaded loaded =
        load({.environment = {{"MCP_API_TOKEN", "hunter2"}, {"FILE_SECRET", "hunter3"}}}).value();
    const std::string table = render(loaded);
    EXPECT_EQ(table.find("hunter"), std::string::npos);
    EXPECT_NE(line_of(table, "auth.token").find("(set)"), std::string::npos);
    EXPECT_NE(line_of(table, "files.secret").find("(set)"), std::string::npos);
}

TEST(ConfigShow, ReferenceIsAFileThatChangesNothing) {
    const Loaded loaded = load({.file_text = render_reference()}).value();
    EXPECT_EQ(loaded.settings, Settings{});
    EXPECT_EQ(loaded.origin_of("limits.timeout").describe(), "default");
}

TEST(ConfigShow, ReferenceSetsEveryKeyToItsDefaultWhenUncommented) {
    std::istringstream lines(render_reference());
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        const bool is_key = line.starts_with('#') && !line.starts_with("# ");
        text += (is_key ? line.substr(1) : line) + "\n";
    }
    const Loaded loaded = load({.file_path = "reference.toml", .file_text = text}).value();
    EXPECT_EQ(loaded.settings, Settings{});
    for (const Entry& entry : loaded.entries) {
        EXPECT_EQ(entry.origin.source, Origin::Source::File) << entry.key->name;
    }
}

TEST(ConfigShow, ReferenceNamesVariablesAndBounds) {
    const std::string reference = render_reference();
    EXPECT_NE(reference.find("BELLJAR_AUTH_TOKEN, MCP_API_TOKEN, MCP_API_KEY"), std::string::npos);
    EXPECT_NE(reference.find("from 1ms to 24h"), std::string::npos);
    EXPECT_NE(reference.find("#listen = \"127.0.0.1:8080\"\n"), std::string::npos);
}

}  // namespace
}  // namespace belljar::config
