#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

#include "base/clock.h"
#include "base/utf8.h"

namespace belljar {
namespace {

std::string_view name_of(LogLevel level) {
    switch (level) {
        case LogLevel::Debug:
            return "debug";
        case LogLevel::Info:
            return "info";
        case LogLevel::Warning:
            return "warning";
        case LogLevel::Error:
            return "error";
    }
    return "error";
}

void append_string(std::string& line, std::string_view text) {
    line += '"';
    for (const char letter : make_valid_utf8(text)) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            line += '\\';
            line += letter;
        } else if (byte < 0x20 || byte == 0x7f) {
            fmt::format_to(std::back_inserter(line), "\\u{:04x}", byte);
        } else {
            line += letter;
        }
    }
    line += '"';
}

struct AppendValue {
    std::string& line;

    void operator()(std::string_view text) const { append_string(line, text); }
    void operator()(std::int64_t number) const { line += fmt::format("{}", number); }
    void operator()(double number) const { line += fmt::format("{:.6f}", number); }
};

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
    if (name == "warn") {
        return LogLevel::Warning;
    }
    for (const LogLevel level :
         {LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error}) {
        if (name == name_of(level)) {
            return level;
        }
    }
    return std::nullopt;
}

void Log::debug(std::string_view message, std::initializer_list<LogField> fields) const {
    write(LogLevel::Debug, message, fields);
}

void Log::info(std::string_view message, std::initializer_list<LogField> fields) const {
    write(LogLevel::Info, message, fields);
}

void Log::warning(std::string_view message, std::initializer_list<LogField> fields) const {
    write(LogLevel::Warning, message, fields);
}

void Log::error(std::string_view message, std::initializer_list<LogField> fields) const {
    write(LogLevel::Error, message, fields);
}

std::string Log::format(LogLevel level, std::string_view message,
                        std::initializer_list<LogField> fields) const {
    std::string line =
        fmt::format(R"({{"time":"{}","level":"{}","component":)", utc_timestamp(), name_of(level));
    append_string(line, component_);
    line += R"(,"message":)";
    append_string(line, message);
    for (const LogField& field : fields) {
        line += ',';
        append_string(line, field.key);
        line += ':';
        std::visit(AppendValue{line}, field.value);
    }
    line += '}';
    return line;
}

void Log::write(LogLevel level, std::string_view message,
                std::initializer_list<LogField> fields) const {
    if (level < threshold_) {
        return;
    }
    const std::string line = format(level, message, fields) + "\n";
    // A log line that cannot be written has nowhere to be reported.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace belljar
