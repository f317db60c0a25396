#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

#include "base/clock.h"
#include "base/utf8.h"

namespace belljar {
namespace {

// Both blocks of control characters: a terminal takes U+009B for the start of a command, like ESC.
bool is_control(unsigned character) {
    return character < 0x20 || (character >= 0x7F && character < 0xA0);
}

void append_string(std::string& line, std::string_view text) {
    const std::string valid = make_valid_utf8(text);
    line += '"';
    for (std::size_t index = 0; index < valid.size(); ++index) {
        const auto byte = static_cast<unsigned char>(valid[index]);
        const bool two_bytes = byte == 0xC2U;  // U+0080 to U+00BF
        const unsigned character = two_bytes ? static_cast<unsigned char>(valid[index + 1]) : byte;
        if (is_control(character) && (two_bytes || byte < 0x80)) {
            fmt::format_to(std::back_inserter(line), "\\u{:04x}", character);
            index += two_bytes ? 1 : 0;
        } else if (byte == '"' || byte == '\\') {
            line += '\\';
            line += valid[index];
        } else {
            line += valid[index];
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

void LogTail::add(std::string line) {
    const std::lock_guard lock(mutex_);
    if (lines_.size() == most_) {
        lines_.pop_front();
    }
    lines_.push_back(std::move(line));
}

std::vector<std::string> LogTail::lines() const {
    const std::lock_guard lock(mutex_);
    return {lines_.begin(), lines_.end()};
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
    std::string line = format(level, message, fields);
    if (tail_) {
        tail_->add(line);
    }
    line += '\n';
    // A log line that cannot be written has nowhere to be reported.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace belljar
