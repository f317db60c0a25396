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

Keys launched_keys() {
    return {{"language", "\"ruby\""},
            {"version", R"(["{program}", "--version"])"},
            {"detect", R"(["/usr/bin/ruby"])"},
            {"file", "\"main.rb\""},
            {"command", R"(["{program}", "{file}", "{args}"])"}};
}

std::string launched_message_with(const std::string& key, const std::string& value) {
    Keys keys = launched_keys();
    keys[key] = value;
    return message_for(text_of(keys));
}

TEST(Manifest, NeedsOnlyWhatCannotBeGuessed) {
    const Manifest manifest = parse_manifest("ruby.toml", text_of(launched_keys())).value();
    EXPECT_TRUE(manifest.has_launcher());
    EXPECT_EQ(manifest.runner, "ruby");
    EXPECT_EQ(manifest.title, "ruby");
    EXPECT_EQ(manifest.need, Need::Optional);
    EXPECT_EQ(manifest.proc, ProcView::ProcessesOnly);
    EXPECT_EQ(manifest.write_execute, WriteExecute::Denied);
    EXPECT_FALSE(manifest.environment.empty());
    EXPECT_EQ(manifest.limits, execution::LimitChoices{});
    for (const auto& [key, value] : launched_keys()) {
        Keys keys = launched_keys();
        keys.erase(key);
        EXPECT_NE(message_for(text_of(keys)).find("\"" + key + "\""), std::string::npos) << key;
    }
    message_for("");
}

TEST(Manifest, ReadsSections) {
    const std::string text = text_of(launched_keys()) +
                             "required = true\ntitle = \"Ruby\"\nversion_prefix = \"ruby \"\n"
                             "[compile]\ncommand = [\"/usr/bin/rbc\", \"{file}\"]\n"
                             "timeout = \"5s\"\nmemory = \"64m\"\n"
                             "[limits]\ntimeout = \"2m\"\nmemory = \"1g\"\ncpu = 2\n"
                             "processes = 7\ntmp = \"5m\"\n";
    const Manifest manifest = parse_manifest("ruby.toml", text).value();
    EXPECT_EQ(manifest.need, Need::Required);
    EXPECT_EQ(manifest.title, "Ruby");
    EXPECT_EQ(manifest.version_prefix, "ruby ");
    EXPECT_EQ(manifest.compile.command, (std::vector<std::string>{"/usr/bin/rbc", "{file}"}));
    EXPECT_EQ(manifest.compile.timeout, Duration(std::chrono::seconds(5)));
    EXPECT_EQ(manifest.compile.memory, mebibytes(64));
    EXPECT_EQ(manifest.limits, (execution::LimitChoices{.timeout = std::chrono::minutes(2),
                                                        .memory = gibibytes(1),
                                                        .cpu = 2.0,
                                                        .processes = 7,
                                                        .tmp = mebibytes(5)}));
}

TEST(Manifest, SaysWhichKeyInWhichLineAndWhatIsAllowed) {
    EXPECT_EQ(message_for("language = \"a\"\n\nlangage = 1\n")
                  .find("lua.toml:3: unknown key "
                        "\"langage\"; allowed are "
                        "language, title"),
              0U);
    const std::string text = text_of(launched_keys());
    EXPECT_NE(message_for(text + "[limits]\nmemroy = 1\n").find("unknown key \"limits.memroy\""),
              std::string::npos);
    EXPECT_NE(message_for(text + "[compile]\ncomand = 1\n").find("\"compile.comand\""),
              std::string::npos);
    EXPECT_EQ(message_for(text + "[limits]\nmemory = 5\n"),
              "lua.toml:7: \"limits.memory\" must be a size such as \"64m\" or \"1g\"");
    for (const std::string line :
         {"timeout = 5", "timeout = \"x\"", "timeout = \"0s\"", "memory = \"0\"", "cpu = \"1\"",
          "cpu = 0", "cpu = 2000", "processes = -1", "processes = 1.5", "processes = 99999",
          "tmp = \"little\""}) {
        EXPECT_NE(message_for(text + "[limits]\n" + line).find("lua.toml:7: \"limits."),
                  std::string::npos)
            << line;
    }
    message_for(text + "limits = 1\n");
    message_for(text + "compile = []\n");
}

TEST(Manifest, RefusesWhatCannotWork) {
    const auto refuses = [](const std::string& key, const std::string& value,
                            const std::string& part) {
        EXPECT_NE(launched_message_with(key, value).find(part), std::string::npos) << value;
    };
    for (const std::string name :
         {"\"Ruby\"", "\"a b\"", "\"a/b\"", "\"a23456789b123456789c123456789d123\""}) {
        refuses("language", name, "lower-case");
        refuses("aliases", "[" + name + "]", "lower-case");
    }
    refuses("aliases", R"(["ruby"])", "twice");
    refuses("aliases", R"(["rb", "rb"])", "twice");
    for (const std::string name : {"\"a/b\"", "\".hidden\"", "\"..\"", "\"\""}) {
        refuses("file", name, "\"file\"");
    }
    refuses("command", R"(["{program}", "{args}", "{file}"])", "last");
    refuses("command", R"(["{program}", "-x{args}"])", "last");
    refuses("command", R"(["{output}"])", "absolute path");
    refuses("command", R"(["/bin/x", "{output}"])", "nothing is compiled");
    refuses("detect", "[]", "absolute paths");
    refuses("detect", R"(["ruby"])", "absolute paths");
    refuses("detect", R"(["/usr/../etc/x"])", "absolute paths");
    refuses("version", R"(["ruby"])", "absolute path");
    refuses("version", "[]", "absolute path");
    refuses("environment", R"(["HOME"])", "NAME=value");
    refuses("environment", R"(["=x"])", "NAME=value");
    refuses("preload", R"(["a"])", "with a bootstrap");
    refuses("ready", "1", "with a bootstrap");
    refuses("required", "1", "true or false");
    refuses("bootstrap", "[]", "leave the key out");
    EXPECT_NE(message_with("file", "\"main.lua\"").find("without a bootstrap"), std::string::npos);
    EXPECT_NE(message_with("ready", "-1").find("0 to 4096"), std::string::npos);
    EXPECT_NE(message_for(text_of(valid_keys()) + "[compile]\ncommand = [\"/bin/true\"]")
                  .find("without a bootstrap"),
              std::string::npos);
    EXPECT_NE(
        message_for(text_of(launched_keys()) + "[compile]\ncommand = [\"{program}\", \"{args}\"]")
            .find("for the program"),
        std::string::npos);
}

TEST(Manifest, ItsProgramsCanComeFromElsewhere) {
    const GuestProgram program = [](const std::string& name) -> Result<std::string> {
        return "text of " + name;
    };
    Keys keys = valid_keys();
    keys["bootstrap"] = R"(["a", "b"])";
    const Manifest manifest = parse_manifest("lua.toml", text_of(keys), program).value();
    EXPECT_EQ(manifest.bootstrap, "text of atext of b");
    EXPECT_EQ(manifest.self_test, "text of python/self_test.py");
}

TEST(Manifest, RefusesWrongTypes) {
    for (const std::string& key :
         {"language", "runner", "title", "self_test", "proc", "write_execute"}) {
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

TEST(Manifest, AReaderStandsBehindTheBootstrap) {
    auto keys = valid_keys();
    const Manifest without = parse_manifest("lua.toml", text_of(keys)).value();
    EXPECT_FALSE(without.has_reader);
    keys["reader"] = "[\"python/scan.py\"]";
    const Manifest with = parse_manifest("lua.toml", text_of(keys)).value();
    EXPECT_TRUE(with.has_reader);
    EXPECT_EQ(with.bootstrap,
              without.bootstrap + '\0' + embedded_guest_program("python/scan.py").value());
    EXPECT_NE(message_with("reader", "[\"no/such.py\"]").find("no guest program"),
              std::string::npos);
    EXPECT_NE(message_with("reader", "[]").find("must name a program"), std::string::npos);
    keys.erase("bootstrap");
    EXPECT_NE(message_for(text_of(keys)).find("is for languages with a bootstrap"),
              std::string::npos);
}

TEST(Manifest, SaysTheLineOfASyntaxError) {
    EXPECT_NE(message_for("language = \"lua\"\naliases = [\n= x").find("lua.toml:3"),
              std::string::npos);
    message_for("language");
    message_for("language = \"a\"\nlanguage = \"b\"\n");
    message_for(std::string("a\0b", 3));
}

TEST(Manifest, ASpecialistHasMoreAndIsFoundByItsWords) {
    const std::string text = text_of(valid_keys()) + "preload = [\"a\"]\n[specialist]\n" +
                             "words = [\"luasql\"]\npreload = [\"b\"]\nenvironment = [\"X=1\"]\n";
    const auto manifest =
        std::make_shared<const Manifest>(parse_manifest("lua.toml", text).value());
    ASSERT_TRUE(manifest->specialist);
    EXPECT_EQ(manifest->preload, std::vector<std::string>{"a"});
    EXPECT_EQ(manifest->specialist->preload, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(manifest->specialist->environment,
              (std::vector<std::string>{"HOME=/workspace", "X=1"}));
    EXPECT_EQ(manifest->specialist->language, "lua");
    EXPECT_EQ(suited(manifest, "require 'luasql'"), manifest->specialist);
    EXPECT_EQ(suited(manifest, "print(1)"), manifest);
    EXPECT_EQ(suited(manifest->specialist, "luasql"), manifest->specialist);
}

TEST(Manifest, ASpecialistNeedsItsWords) {
    message_for(text_of(valid_keys()) + "[specialist]\npreload = []\nenvironment = []\n");
}

}  // namespace
}  // namespace belljar::runner
