#include "policy/plain_program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/ascii.h"

namespace belljar::policy {
namespace {

constexpr std::size_t kLongest = 2000;  // what is longer is read

// Without one of these no name leads to anything that the scanner knows.
constexpr auto kTellingWords = [] {
    std::array words = std::to_array<std::string_view>(
        {"os",        "_os",      "posix",      "sys",      "_sys",     "subprocess",
         "pty",       "commands", "asyncio",    "signal",   "shutil",   "_posixsubprocess",
         "pickle",    "_pickle",  "cPickle",    "marshal",  "dill",     "multiprocessing",
         "shelve",    "yaml",     "jsonpickle", "joblib",   "torch",    "cloudpickle",
         "pandas",    "ctypes",   "_ctypes",    "cffi",     "socket",   "socketserver",
         "_socket",   "http",     "telnetlib",  "paramiko", "ftplib",   "smtplib",
         "ssl",       "requests", "websocket",  "xmlrpc",   "urllib",   "urllib3",
         "httpx",     "aiohttp",  "importlib",  "imp",      "runpy",    "zipimport",
         "builtins",  "codecs",   "base64",     "zlib",     "gzip",     "bz2",
         "lzma",      "binascii", "nsenter",    "unshare",  "eval",     "exec",
         "compile",   "getattr",  "globals",    "locals",   "vars",     "chr",
         "bytes",     "fromhex",  "bytearray",  "decode",   "while",    "f_back",
         "f_globals", "gi_frame", "f_builtins", "cr_frame", "ag_frame", "tb_frame",
         "_getframe"});
    std::ranges::sort(words);
    return words;
}();

// Nor does what only looks like a name, or a number, or has several lines.
constexpr std::array<std::string_view, 10> kTellingSigns{"\\", "\r",  "__",   "'''",  "\"\"\"",
                                                         "<<", "_0x", "AKIA", "ASIA", "AIza"};
// Nor what is meant for whoever reads it. In small letters.
constexpr auto kTellingParts = std::to_array<std::string_view>(
    {"mkfifo",     "xmrig",      "minerd",      "cryptonight", "coinhive",   "passw",
     "secret",     "apikey",     "api_key",     "accesskey",   "access_key", "authtoken",
     "auth_token", "privatekey", "private_key", "credential",  "prompt",     "instruction",
     "rules",      "guidelines", "directions",  "<|",          "inst]",      "sys>>",
     "do not ",    "you are now"});

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_small(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_quote(char letter) { return letter == '\'' || letter == '"'; }
bool is_blank(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }
bool is_in_word(char letter) {
    return is_small(to_lower(letter)) || is_digit(letter) || letter == '_';
}
bool is_confusing(char letter) { return std::string_view("O0Il1_").contains(letter); }

// How many letters there are at its beginning that `matches`.
template <typename Matches>
std::size_t run_of(std::string_view text, Matches matches) {
    const auto end = std::ranges::find_if_not(text, matches);
    return static_cast<std::size_t>(end - text.begin());
}

bool has_run(std::string_view text, bool (*matches)(char), std::size_t length) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t run = run_of(text.substr(at), matches);
        if (run >= length) {
            return true;
        }
        at += run;
    }
    return false;
}

bool is_telling_word(std::string_view word, const std::vector<std::string>& builtins) {
    const bool number = is_digit(word.front());
    const bool has_base =
        word.size() > 1 && word[0] == '0' && std::string_view("xob").contains(to_lower(word[1]));
    return (number && (has_base || word.contains('_'))) ||
           std::ranges::binary_search(kTellingWords, word) ||
           std::ranges::find(builtins, word) != builtins.end();
}

bool has_telling_word(std::string_view code, const std::vector<std::string>& builtins) {
    while (!code.empty()) {
        const std::size_t length = run_of(code, is_in_word);
        if (length > 0 && is_telling_word(code.substr(0, length), builtins)) {
            return true;
        }
        code.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return false;
}

// A slice with a step, which may be backwards.
bool has_two_colons(std::string_view code) {
    for (std::size_t at = code.find(':'); at != code.npos; at = code.find(':', at + 1)) {
        const std::string_view behind = code.substr(at + 1);
        const std::size_t blanks = run_of(behind, is_blank);
        if (blanks < behind.size() && behind[blanks] == ':') {
            return true;
        }
    }
    return false;
}

enum class Behind { Colon, Point };

// How a number is to be shown, behind its colon or its point and up to the brace: "10.2f}".
bool is_format(std::string_view text, Behind what) {
    const auto skip = [&text](auto matches) { text.remove_prefix(run_of(text, matches)); };
    const auto skip_one = [&text](std::string_view letters) {
        const bool found = !text.empty() && letters.contains(text.front());
        text.remove_prefix(found ? 1 : 0);
        return found;
    };
    if (what == Behind::Colon) {
        skip_one(",<>^");
    }
    skip(is_digit);
    if (what == Behind::Colon) {
        skip_one(",");
        if (skip_one(".")) {
            skip(is_digit);
        }
    }
    skip_one("abcdefghijklmnopqrstuvwxyz%");
    return text.starts_with('}');
}

// What a text needs to be a path, an address or a key: more than the signs of a sentence, or of how
// a number is shown.
bool is_telling_text(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char letter = text[at];
        const std::string_view behind = text.substr(at + 1);
        const bool ends = behind.empty() || is_blank(behind.front());
        if (std::string_view("/_+\"'").contains(letter) || (letter == '-' && !ends) ||
            (letter == ':' && !ends && !is_format(behind, Behind::Colon)) ||
            (letter == '.' && !ends && !is_format(behind, Behind::Point))) {
            return true;
        }
    }
    return false;
}

struct Texts {
    std::size_t count = 0;
    bool telling = false;
    bool joined = false;  // one directly behind another
    bool filled = false;  // one with values in it
};

// Each ends in the line where it begins; nullopt: one does not.
std::optional<Texts> look_at_texts(std::string_view code) {
    Texts texts;
    std::size_t end = code.npos;  // of the one before
    for (std::size_t at = 0; at < code.size(); ++at) {
        if (!is_quote(code[at])) {
            continue;
        }
        const std::string_view rest = code.substr(at + 1);
        const std::size_t length = rest.find_first_of(code[at] == '"' ? "\"\n" : "'\n");
        if (length == rest.npos || rest[length] == '\n') {
            return std::nullopt;
        }
        const std::string_view between = end == code.npos ? "x" : code.substr(end, at - end);
        texts.joined = texts.joined || length == 0 || run_of(between, is_blank) == between.size();
        const std::string_view before = code.substr(0, at);
        const std::size_t prefix = before.ends_with('r') || before.ends_with('R') ? 1 : 0;
        const std::string_view marks = before.substr(0, before.size() - prefix);
        texts.filled = texts.filled || marks.ends_with('f') || marks.ends_with('F');
        texts.telling = texts.telling || is_telling_text(rest.substr(0, length));
        ++texts.count;
        at += length + 1;
        end = at + 1;
    }
    return texts;
}

bool has_any(std::string_view text, auto&& parts) {
    return std::ranges::any_of(parts,
                               [text](std::string_view part) { return text.contains(part); });
}

}  // namespace

bool is_plain_python(std::string_view code, const std::vector<std::string>& builtins) {
    const auto foreign = [](char letter) {
        return static_cast<unsigned char>(letter) >= 0x80 || letter == '\0';
    };
    if (code.size() > kLongest || std::ranges::any_of(code, foreign) ||
        has_telling_word(code, builtins) || has_any(code, kTellingSigns) ||
        has_any(to_lower(code), kTellingParts) || has_two_colons(code) ||
        std::ranges::count(code, '*') > 1 || has_run(code, is_digit, 9) ||
        has_run(code, is_confusing, 6)) {
        return false;
    }
    const std::optional<Texts> texts = look_at_texts(code);
    // Two texts may be put together to something else.
    const bool puts_together =
        texts && (texts->joined || texts->filled || code.contains('+') || code.contains("join"));
    return texts && !texts->telling && (texts->count < 2 || !puts_together);
}

}  // namespace belljar::policy
