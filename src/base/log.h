#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace belljar {

enum class LogLevel { Debug, Info, Warning, Error };

[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view name);
[[nodiscard]] std::string_view name_of(LogLevel level);

// One key and value of a log line.
struct LogField {
    std::string_view key;
    std::variant<std::string_view, std::int64_t, double> value;

    LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
    LogField(std::string_view name, const char* text) : key(name), value(std::string_view(text)) {}
    LogField(std::string_view name, const std::string& text)
        : key(name), value(std::string_view(text)) {}
    LogField(std::string_view name, std::int64_t number) : key(name), value(number) {}
    LogField(std::string_view name, double number) : key(name), value(number) {}
};

// Writes one JSON object per line to stderr, each in a single write(2), so that lines of several
// processes never mix. Control characters of hostile text are escaped. The object is passed to
// whoever logs; there is no global one.
class Log {
   public:
    Log(std::string component, LogLevel threshold)
        : component_(std::move(component)), threshold_(threshold) {}

    void debug(std::string_view message, std::initializer_list<LogField> fields = {}) const;
    void info(std::string_view message, std::initializer_list<LogField> fields = {}) const;
    void warning(std::string_view message, std::initializer_list<LogField> fields = {}) const;
    void error(std::string_view message, std::initializer_list<LogField> fields = {}) const;

    // The line that would be written, without the newline.
    [[nodiscard]] std::string format(LogLevel level, std::string_view message,
                                     std::initializer_list<LogField> fields) const;

   private:
    void write(LogLevel level, std::string_view message,
               std::initializer_list<LogField> fields) const;

    std::string component_;
    LogLevel threshold_;
};

}  // namespace belljar
