#include "runner/manifest.h"

#include <gtest/gtest.h>

#include <map>

namespace belljar::runner {
namespace {

using Keys = std::map<std::string, std::string>;

Keys valid_keys() {
    return {{"language", "\"lua\""},
            {"aliases", R"(["luajit"])"},
            {"runner", "\"lua5.4\""},
            {"bootstrap", "[\"python/bootstrap.py\"]"},
            {"command", R"(["/usr/bin/lua", "/proc/self/fd/3"])"},
            {"environment", R"(["HOME=/workspace"])"},
            {"self_test", "\"python/self_test.py\""},
            {"proc", "\"masked\""},
            {"write_execute", "\"denied\""}};
}

std::string text_of(const Keys& keys) {
    std::string text;
    for (const auto& [key, value] : keys) {
        text += key + " = " + value + "\n";
    }
    return text;
}

std::string message_for(const std::string& text) {
    const Result<Manifest> manifest = parse_manifest("lua.toml", text);
    EXPECT_FALSE(manifest) << text;
    if (manifest) {
        return "";
    }
    EXPECT_EQ(manifest.error().code, ErrorCode::InvalidArgument);
    EXPECT_TRUE(manifest.error().message.starts_with("lua.toml")) << manifest.error().message;
    return manifest.error().message;
}

std::string message_with(const std::string& key, const std::string& value) {
    Keys keys = valid_keys();
    keys[key] = value;
    return message_for(text_of(keys));
}

TEST(Manifest, ReadsEveryKey) {
    const Manifest manifest = parse_manifest("lua.toml", text_of(valid_keys())).value();
    EXPECT_EQ(manifest.language, "lua");
    EXPECT_EQ(manifest.aliases, std::vector<std::string>{"luajit"});
    EXPECT_EQ(manifest.runner, "lua5.4");
    EXPECT_EQ(manifest.command, (std::vector<std::string>{"/usr/bin/lua", "/proc/self/fd/3"}));
    EXPECT_EQ(manifest.environment, std::vector<std::string>{"HOME=/workspace"});
    EXPECT_NE(manifest.self_test.find("Looks at the jar from inside"), std::string::npos);
    EXPECT_EQ(manifest.proc, ProcView::Masked);
    EXPECT_EQ(manifest.write_execute, WriteExecute::Denied);
    EXPECT_NE(manifest.bootstrap.find("Runs one program inside a jar"), std::string::npos);
}

TEST(Manifest, SaysWhatAGuestCostsThatWaits) {
    const Manifest usual = parse_manifest("lua.toml", text_of(valid_keys())).value();
    EXPECT_EQ(usual.ready_memory, mebibytes(16));
    EXPECT_EQ(usual.ready, std::nullopt);
    Keys keys = valid_keys();
    keys["ready_memory"] = "\"48m\"";
    keys["ready"] = "1";
    const Manifest dear = parse_manifest("lua.toml", text_of(keys)).value();
    EXPECT_EQ(dear.ready_memory, mebibytes(48));
    EXPECT_EQ(dear.ready, 1U);
    for (const std::string& value : {"\"much\"", "48", "\"0\"", "\"\""}) {
        message_with("ready_memory", value);
    }
    for (const std::string& value : {"-1", "\"1\"", "1.5", "[1]"}) {
        EXPECT_NE(message_with("ready", value).find("\"ready\""), std::string::npos) << value;
    }
}

TEST(Manifest, ItsProgramIsAFileThatNobodyCanChange) {
    const Manifest manifest = parse_manifest("lua.toml", text_of(valid_keys())).value();
    ASSERT_TRUE(manifest.program && manifest.program->valid());
    EXPECT_EQ(read_all(*manifest.program, mebibytes(8)).value(), manifest.bootstrap);
    EXPECT_FALSE(write_all(*manifest.program, "x"));
}

TEST(Manifest, EveryKeyIsRequired) {
    for (const auto& [key, value] : valid_keys()) {
        Keys keys = valid_keys();
        keys.erase(key);
        EXPECT_NE(message_for(text_of(keys)).find("\"" + key + "\""), std::string::npos) << key;
    }
    message_for("");
}

TEST(Manifest, RefusesWrongTypes) {
    for (const std::string& key : {"language", "runner", "self_test", "proc", "write_execute"}) {
        for (const std::string& value : {"1", "true", "\"\"", R"(["a"])", "{ a = 1 }"}) {
            EXPECT_NE(message_with(key, value).find(key), std::string::npos) << key << value;
        }
    }
    for (const std::string& key : {"aliases", "bootstrap", "command", "environment"}) {
        for (const std::string& value : {"1", "\"a\"", "[1]", R"(["a", 2])", "[[\"a\"]]"}) {
            EXPECT_NE(message_with(key, value).find(key), std::string::npos) << key << value;
        }
    }
}

TEST(Manifest, TheCommandIsAnAbsolutePath) {
    for (const std::string& value : {"[]", R"(["lua"])", R"(["./lua"])", R"([""])"}) {
        EXPECT_NE(message_with("command", value).find("absolute path"), std::string::npos) << value;
    }
}

TEST(Manifest, ChoicesAreThoseThatThereAre) {
    Keys keys = valid_keys();
    keys["proc"] = "\"processes\"";
    keys["write_execute"] = "\"allowed\"";
    const Manifest manifest = parse_manifest("lua.toml", text_of(keys)).value();
    EXPECT_EQ(manifest.proc, ProcView::ProcessesOnly);
    EXPECT_EQ(manifest.write_execute, WriteExecute::Allowed);
    for (const std::string& value : {"\"all\"", "\"Masked\"", "\"denied \""}) {
        EXPECT_NE(message_with("proc", value).find("\"masked\""), std::string::npos) << value;
        EXPECT_NE(message_with("write_execute", value).find("\"denied\""), std::string::npos)
            << value;
    }
}

TEST(Manifest, ItsProgramsAreEmbeddedGuestPrograms) {
    for (const std::string& value : {"\"no/such.py\"", "\"../runners/python.toml\"",
                                     "\"/etc/passwd\"", "\"guest/python/bootstrap.py\""}) {
        EXPECT_NE(message_with("bootstrap", "[" + value + "]").find("no guest program"),
                  std::string::npos);
        EXPECT_NE(message_with("self_test", value).find("no guest program"), std::string::npos);
    }
}

TEST(Manifest, SaysTheLineOfASyntaxError) {
    EXPECT_NE(message_for("language = \"lua\"\naliases = [\n= x").find("lua.toml:3"),
              std::string::npos);
    message_for("language");
    message_for("language = \"a\"\nlanguage = \"b\"\n");
    message_for(std::string("a\0b", 3));
}

TEST(Runners, LoadsTheEmbeddedManifests) {
    const Runners runners = Runners::create().value();
    ASSERT_FALSE(runners.all().empty());
    for (const Manifest& manifest : runners.all()) {
        EXPECT_FALSE(manifest.bootstrap.empty());
        EXPECT_FALSE(manifest.self_test.empty());
        EXPECT_TRUE(manifest.command.front().starts_with('/'));
        for (const std::string& variable : manifest.environment) {
            EXPECT_NE(variable.find('='), std::string::npos) << variable;
        }
    }
    EXPECT_NE(runners.names().find("python"), std::string::npos);
}

TEST(Runners, FindsByNameAndAliasWithoutRegardToCase) {
    const Runners runners = Runners::create().value();
    const Manifest* python = runners.find("python");
    ASSERT_NE(python, nullptr);
    for (const std::string_view name : {"Python", "PYTHON", "py", "PY", "python3", "Python3"}) {
        EXPECT_EQ(runners.find(name), python) << name;
    }
    for (const std::string_view name :
         {"", " python", "python ", "pyth", "python4", "cpython", "cobol"}) {
        EXPECT_EQ(runners.find(name), nullptr) << name;
    }
    EXPECT_EQ(runners.find(std::string_view("python\0", 7)), nullptr);
}

TEST(Runners, KnowsTheLanguagesOfNode) {
    const Runners runners = Runners::create().value();
    const Manifest* javascript = runners.find("js");
    const Manifest* typescript = runners.find("TS");
    ASSERT_TRUE(javascript != nullptr && typescript != nullptr);
    EXPECT_EQ(javascript->language, "javascript");
    EXPECT_EQ(typescript->language, "typescript");
    EXPECT_EQ(runners.find("NodeJS"), javascript);
    // The parser and the transformer are packages, each an expression of its own.
    for (const Manifest* manifest : {javascript, typescript}) {
        EXPECT_TRUE(manifest->bootstrap.starts_with("const acorn = (() => {"));
        EXPECT_EQ(manifest->write_execute, WriteExecute::Allowed) << "V8 writes code";
    }
    EXPECT_EQ(javascript->bootstrap.find("const swc = "), std::string::npos);
    EXPECT_NE(typescript->bootstrap.find("const swc = "), std::string::npos);
}

TEST(Runners, ForgetsALanguage) {
    Runners runners = Runners::create().value();
    const std::size_t count = runners.all().size();
    runners.remove("javascript");
    runners.remove("no such language");
    EXPECT_EQ(runners.all().size(), count - 1);
    EXPECT_EQ(runners.find("javascript"), nullptr);
    EXPECT_EQ(runners.find("js"), nullptr);
    EXPECT_EQ(runners.names().find("javascript"), std::string::npos);
}

// find() compares with the lower-case form of what was asked.
TEST(Runners, ShippedNamesAreLowerCaseAndDistinct) {
    const Runners runners = Runners::create().value();
    std::map<std::string, int> seen;
    for (const Manifest& manifest : runners.all()) {
        ++seen[manifest.language];
        for (const std::string& alias : manifest.aliases) {
            ++seen[alias];
        }
    }
    for (const auto& [name, count] : seen) {
        EXPECT_EQ(count, 1) << name;
        EXPECT_EQ(name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos) << name;
    }
}

}  // namespace
}  // namespace belljar::runner
