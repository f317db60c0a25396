#include "policy/file_use.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/ascii.h"

namespace belljar::policy {
namespace {

template <std::size_t count>
constexpr auto sorted(std::array<std::string_view, count> words) {
    std::ranges::sort(words);
    return words;
}

// What opens files, and what leads to names that are not in the text. Modules that others have
// imported are attributes of those.
constexpr auto kWays = sorted(std::to_array<std::string_view>(
    {"open",     "exec",      "eval",       "compile",     "getattr",    "setattr",   "delattr",
     "globals",  "locals",    "vars",       "breakpoint",  "help",       "license",   "copyright",
     "credits",  "os",        "_os",        "posix",       "sys",        "_sys",      "io",
     "_io",      "codecs",    "builtins",   "importlib",   "inspect",    "linecache", "tokenize",
     "pathlib",  "shutil",    "tempfile",   "threading",   "_threading", "ctypes",    "pickle",
     "gi_frame", "cr_frame",  "ag_frame",   "tb_frame",    "f_back",     "f_globals", "f_builtins",
     "f_locals", "_getframe", "attrgetter", "methodcaller"}));

constexpr auto kModulesWithoutFiles = sorted(std::to_array<std::string_view>(
    {"abc",         "array",   "base64",      "binascii", "bisect",  "calendar",  "cmath",
     "collections", "copy",    "dataclasses", "datetime", "decimal", "enum",      "fractions",
     "functools",   "hashlib", "heapq",       "hmac",     "html",    "itertools", "json",
     "math",        "numbers", "operator",    "pprint",   "random",  "re",        "secrets",
     "statistics",  "string",  "struct",      "textwrap", "time",    "typing",    "unicodedata",
     "uuid",        "zlib"}));

bool is_of_word(char letter) {
    const char small = to_lower(letter);
    return (small >= 'a' && small <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
}

// The next word; what is in front of it is gone then. Empty if there is none.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(
        static_cast<std::size_t>(std::ranges::find_if(text, is_of_word) - text.begin()));
    const auto end = std::ranges::find_if_not(text, is_of_word);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    return word;
}

bool has_way(std::string_view code) {
    for (std::string_view word = take_word(code); !word.empty(); word = take_word(code)) {
        if (std::ranges::binary_search(kWays, word)) {
            return true;
        }
    }
    return false;
}

bool is_harmless(std::string_view module) {
    return std::ranges::binary_search(kModulesWithoutFiles, module);
}

// "import a, b as c": every other word but a name behind "as" is a module.
bool imports_harmless(std::string_view modules) {
    bool any = false;
    for (std::string_view word = take_word(modules); !word.empty(); word = take_word(modules)) {
        if (word == "as") {
            take_word(modules);
        } else if (!is_harmless(word)) {
            return false;
        }
        any = true;
    }
    return any;
}

// One statement, or a piece of one.
bool is_without_files(std::string_view statement) {
    if (!statement.contains("import")) {
        return true;
    }
    const std::string_view first = take_word(statement);
    if (first == "import") {
        return imports_harmless(statement);
    }
    return first == "from" && is_harmless(take_word(statement)) && take_word(statement) == "import";
}

}  // namespace

bool uses_no_files(std::string_view code) {
    // Letters that the interpreter may take for others, lines that go on, names of its own.
    const auto strange = [](char letter) {
        return static_cast<unsigned char>(letter) >= 0x80 || letter == '\0' || letter == '\\';
    };
    if (std::ranges::any_of(code, strange) || code.contains("__") || has_way(code)) {
        return false;
    }
    while (!code.empty()) {
        const std::size_t end = std::min(code.find_first_of("\n\r\f;:"), code.size());
        if (!is_without_files(code.substr(0, end))) {
            return false;
        }
        code.remove_prefix(std::min(end + 1, code.size()));
    }
    return true;
}

}  // namespace belljar::policy
