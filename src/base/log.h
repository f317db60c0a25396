#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

// The last lines that were written, for whoever cannot look at stderr. Used by any thread.
class LogTail {
   public:
    explicit LogTail(std::size_t lines) : most_(lines) {}

    void add(std::string line);
    [[nodiscard]] std::vector<std::string> lines() const;

   private:
    std::size_t most_;
    mutable std::mutex mutex_;
    std::deque<std::string> lines_;
};

// Writes one JSON object per line to stderr, each in a single write(2), so that lines of several
// processes never mix. Control characters of hostile text are escaped. The object is passed to
// whoever logs; there is no global one. Used by any thread.
class Log {
   public:
    // What is written is kept in the tail as well, if there is one.
    Log(std::string component, LogLevel threshold, std::shared_ptr<LogTail> tail = nullptr)
        : component_(std::move(component)), threshold_(threshold), tail_(std::move(tail)) {}
    // The copy has a threshold of its own, and the same tail.
    Log(const Log& other)
        : component_(other.component_), threshold_(other.threshold_.load()), tail_(other.tail_) {}
    Log& operator=(const Log&) = delete;

    // What is less than that is left out from now on.
    void change_threshold(LogLevel threshold) { threshold_ = threshold; }

    // nullptr: nothing is kept.
    [[nodiscard]] const LogTail* tail() const { return tail_.get(); }

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
    std::atomic<LogLevel> threshold_;
    std::shared_ptr<LogTail> tail_;
};

}  // namespace belljar
