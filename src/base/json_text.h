#pragma once

#include <boost/json/object.hpp>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace belljar {

// A JSON object that is written as its members come, to the same bytes as to_text() of a
// json::object with these members: for what is written often and never looked at. Names and texts
// must be valid UTF-8, and no name may come twice.
class JsonText {
   public:
    JsonText() = default;
    JsonText(std::initializer_list<std::pair<json::string_view, json::value_ref>> members);

    void add(std::string_view name, std::string_view text);
    void add(std::string_view name, const char* text) { add(name, std::string_view(text)); }
    void add(std::string_view name, double number);
    template <std::integral Number>
    void add(std::string_view name, Number number) {
        begin_member(name);
        if constexpr (std::same_as<Number, bool>) {
            text_ += number ? "true" : "false";
        } else if constexpr (std::signed_integral<Number>) {
            put(static_cast<std::int64_t>(number));
        } else {
            put(static_cast<std::uint64_t>(number));
        }
    }
    void add_null(std::string_view name);

    // What is added up to its end goes into it.
    void begin_object(std::string_view name);
    void end_object() { text_ += '}'; }
    void begin_array(std::string_view name);
    void end_array() { text_ += ']'; }
    // In an array.
    void begin_item();
    void end_item() { text_ += '}'; }
    void begin_list();  // an array, ended like any other
    void add_item(std::string_view text);

    [[nodiscard]] bool empty() const { return text_.size() == 1; }
    // Whole once everything that was begun has been ended.
    [[nodiscard]] std::string text() const { return text_ + '}'; }
    void append_to(std::string& text) const;
    [[nodiscard]] std::size_t size() const { return text_.size() + 1; }
    void reserve(std::size_t size) { text_.reserve(size); }

   private:
    void separate();
    void begin_member(std::string_view name);
    void put(std::string_view text);
    void put(std::int64_t number);
    void put(std::uint64_t number);

    std::string text_ = "{";  // without the brace at the end
};

}  // namespace belljar
