#include "base/json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <set>
#include <vector>

namespace belljar {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxKey = 64 * 1024;

enum class Problem { None, DuplicateKey, NumberTooLarge };

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
        keys_.emplace_back();
        return true;
    }
    bool on_object_end(std::size_t count, error_code& /*error*/) {
        keys_.pop_back();
        stack_.push_object(count);
        return true;
    }
    bool on_array_begin(error_code& /*error*/) { return true; }
    bool on_array_end(std::size_t count, error_code& /*error*/) {
        stack_.push_array(count);
        return true;
    }
    bool on_key_part(std::string_view part, std::size_t /*total*/, error_code& /*error*/) {
        key_ += part;
        stack_.push_chars(part);
        return true;
    }
    bool on_key(std::string_view part, std::size_t /*total*/, error_code& error) {
        key_ += part;
        if (!keys_.back().insert(key_).second) {
            problem_ = Problem::DuplicateKey;
            error = json::error::syntax;
            return false;
        }
        key_.clear();
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
    bool on_double(double number, std::string_view /*text*/, error_code& error) {
        if (!std::isfinite(number)) {
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
    std::vector<std::set<std::string>> keys_;
    std::string key_;
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
