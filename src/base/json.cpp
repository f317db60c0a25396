#include "base/json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

namespace belljar {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxKey = 64 * 1024;

enum class Problem { None, DuplicateKey, NumberTooLarge };

// The keys of all objects that are open. Those of one object are few as a rule, and then comparing
// beats sorting; of an object with many the others go into a set.
class OpenKeys {
   public:
    void open() { objects_.push_back({.first = places_.size(), .many = {}}); }
    void close() {
        places_.resize(objects_.back().first);
        text_.resize(places_.empty() ? 0 : places_.back().end);
        objects_.pop_back();
    }

    // A key comes in parts. The last one says whether its object has it for the first time.
    void begin(std::string_view part) { text_ += part; }
    bool end(std::string_view part) {
        text_ += part;
        Object& object = objects_.back();
        const std::size_t start = places_.empty() ? 0 : places_.back().end;
        const std::string_view key = std::string_view(text_).substr(start);
        for (std::size_t index = object.first; index < places_.size(); ++index) {
            if (std::string_view(text_).substr(places_[index].begin, places_[index].size()) ==
                key) {
                return false;
            }
        }
        if (places_.size() - object.first < kFew) {
            places_.push_back({.begin = start, .end = text_.size()});
            return true;
        }
        const bool fresh = object.many.emplace(key).second;
        text_.resize(start);
        return fresh;
    }

   private:
    static constexpr std::size_t kFew = 16;

    struct Place {
        std::size_t begin = 0;
        std::size_t end = 0;

        [[nodiscard]] std::size_t size() const { return end - begin; }
    };
    struct Object {
        std::size_t first = 0;  // of its places
        std::set<std::string> many{};
    };

    std::string text_;
    std::vector<Place> places_;  // in the text, one behind the other
    std::vector<Object> objects_;
};

// Builds the value while it watches the keys of every open object.
class Handler {
   public:
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = kMaxKey;
    static constexpr std::size_t max_string_size = json::string::max_size();
    using error_code = boost::system::error_code;

    bool on_document_begin(error_code& /*error*/) {
        stack_.reset();
        return true;
    }
    bool on_document_end(error_code& /*error*/) { return true; }
    bool on_object_begin(error_code& /*error*/) {
        keys_.open();
        return true;
    }
    bool on_object_end(std::size_t count, error_code& /*error*/) {
        keys_.close();
        stack_.push_object(count);
        return true;
    }
    bool on_array_begin(error_code& /*error*/) { return true; }
    bool on_array_end(std::size_t count, error_code& /*error*/) {
        stack_.push_array(count);
        return true;
    }
    bool on_key_part(std::string_view part, std::size_t /*total*/, error_code& /*error*/) {
        keys_.begin(part);
        stack_.push_chars(part);
        return true;
    }
    bool on_key(std::string_view part, std::size_t /*total*/, error_code& error) {
        if (!keys_.end(part)) {
            problem_ = Problem::DuplicateKey;
            error = json::error::syntax;
            return false;
        }
        stack_.push_key(part);
        return true;
    }
    bool on_string_part(std::string_view part, std::size_t /*total*/, error_code& /*error*/) {
        stack_.push_chars(part);
        return true;
    }
    bool on_string(std::string_view part, std::size_t /*total*/, error_code& /*error*/) {
        stack_.push_string(part);
        return true;
    }
    bool on_number_part(std::string_view /*part*/, error_code& /*error*/) { return true; }
    bool on_int64(std::int64_t number, std::string_view /*text*/, error_code& /*error*/) {
        stack_.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, std::string_view /*text*/, error_code& /*error*/) {
        stack_.push_uint64(number);
        return true;
    }
    // The parser's own number may differ in the last place. The text is that of the whole number:
    // what is parsed comes in one piece.
    bool on_double(double roughly, std::string_view text, error_code& error) {
        double number = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (problem == std::errc::result_out_of_range && std::abs(roughly) < 1) {
            number = std::copysign(0.0, roughly);
        } else if (problem != std::errc() || !std::isfinite(number)) {
            problem_ = Problem::NumberTooLarge;
            error = json::error::syntax;
            return false;
        }
        stack_.push_double(number);
        return true;
    }
    bool on_bool(bool value, error_code& /*error*/) {
        stack_.push_bool(value);
        return true;
    }
    bool on_null(error_code& /*error*/) {
        stack_.push_null();
        return true;
    }
    bool on_comment_part(std::string_view /*part*/, error_code& /*error*/) { return true; }
    bool on_comment(std::string_view /*part*/, error_code& /*error*/) { return true; }

    [[nodiscard]] Problem problem() const { return problem_; }
    [[nodiscard]] json::value release() { return stack_.release(); }

   private:
    json::value_stack stack_;
    OpenKeys keys_;
    Problem problem_ = Problem::None;
};

}  // namespace

Result<json::value> parse_json(std::string_view text) {
    json::parse_options options;
    options.max_depth = kMaxDepth;
    json::basic_parser<Handler> parser(options);
    boost::system::error_code error;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
    if (parser.handler().problem() == Problem::DuplicateKey) {
        return fail(ErrorCode::InvalidArgument, "the JSON has an object with the same key twice");
    }
    if (parser.handler().problem() == Problem::NumberTooLarge) {
        return fail(ErrorCode::InvalidArgument, "the JSON has a number that is too large");
    }
    if (error == json::error::too_deep) {
        return fail(ErrorCode::InvalidArgument, "the JSON is nested more than 64 levels deep");
    }
    if (error || used != text.size()) {
        return fail(ErrorCode::InvalidArgument,
                    "not valid JSON at byte " + std::to_string(used) + ": " +
                        (error ? error.message() : std::string("text after the end")));
    }
    return parser.handler().release();
}

std::string to_text(const json::value& value) { return json::serialize(value); }

std::string_view describe_kind(const json::value& value) {
    switch (value.kind()) {
        case json::kind::null:
            return "null";
        case json::kind::bool_:
            return "a boolean";
        case json::kind::int64:
        case json::kind::uint64:
            return "an integer";
        case json::kind::double_:
            return "a number";
        case json::kind::string:
            return "a string";
        case json::kind::array:
            return "an array";
        case json::kind::object:
            return "an object";
    }
    return "a value";
}

}  // namespace belljar
