#include "engine/masking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "privacy/masker.h"

namespace belljar::engine {
namespace {

using execution::RunResult;
using privacy::Counts;
using privacy::TypeSet;

// Of guests, which may nest as deep as the reader allows.
constexpr std::size_t kDeepest = 512;
constexpr std::array<std::string_view, 4> kMediaTypes{"image/", "audio/", "video/", "font/"};

class ReportMasker {
   public:
    explicit ReportMasker(TypeSet types) : types_(types) {}

    void text(std::string& text) { text = masked(text, {}); }
    void text(std::optional<std::string>& text) {
        if (text) {
            text = masked(*text, {});
        }
    }
    void json_text(std::string& text) {
        Result<json::value> value = parse_json(text);
        if (!value) {
            text = masked(text, {});
            return;
        }
        mask_value(*value, {}, 0);
        text = to_text(*value);
    }
    void add_to(execution::MaskCounts& sum) const { privacy::add_counts(counts_, sum); }

   private:
    std::string masked(std::string_view text, std::string_view context) {
        return privacy::mask(text, types_, counts_, context);
    }

    // A value says more about itself together with its key: {"phone": "4155550123"}.
    void mask_value(json::value& value, std::string_view context, std::size_t depth) {
        if (depth > kDeepest) {
            value = nullptr;
        } else if (value.is_string()) {
            value = json::value(masked(value.get_string(), context));
        } else if (value.is_int64() || value.is_uint64()) {
            mask_number(value, context);
        } else if (value.is_array()) {
            for (json::value& item : value.get_array()) {
                mask_value(item, context, depth + 1);
            }
        } else if (value.is_object()) {
            mask_object(value.get_object(), depth);
        }
    }

    void mask_number(json::value& value, std::string_view context) {
        const std::string text = to_text(value);
        if (std::string shown = masked(text, context); shown != text) {
            value = json::value(std::move(shown));
        }
    }

    void mask_object(json::object& object, std::size_t depth) {
        json::object shown;
        shown.reserve(object.size());
        std::map<std::string, std::size_t> counts;  // of keys that came out alike
        for (auto& [name, value] : object) {
            const std::string context = fmt::format("{}: ", std::string_view(name));
            mask_value(value, context, depth + 1);
            std::string key = masked(name, {});
            if (shown.contains(key)) {
                key = another(key, shown, counts);
            }
            shown.emplace(key, std::move(value));
        }
        object = std::move(shown);
    }

    // Two keys that were different stay two. What was counted is not tried again, so that it does
    // not matter how many there are.
    static std::string another(const std::string& key, const json::object& shown,
                               std::map<std::string, std::size_t>& counts) {
        std::size_t& count = counts.try_emplace(key, 1).first->second;
        std::string other;
        do {
            other = fmt::format("{} {}", key, ++count);
        } while (shown.contains(other));
        return other;
    }

    TypeSet types_;
    Counts counts_{};
};

}  // namespace

TypeSet masked_types(const execution::PrivacyRules& rules) {
    return privacy::parse_types(rules.mask).value_or(TypeSet().set());
}

execution::PrivacyRules join(execution::PrivacyRules rules, const execution::PrivacyRules& more) {
    for (const std::string& name : more.mask) {
        if (std::ranges::find(rules.mask, name) == rules.mask.end()) {
            rules.mask.push_back(name);
        }
    }
    return rules;
}

void mask_result(TypeSet types, RunResult& result) {
    ReportMasker masker(types);
    if (result.result_json) {
        masker.json_text(*result.result_json);
    }
    masker.text(result.result_repr);
    for (std::string& name : result.variables) {
        masker.text(name);
    }
    for (execution::Output& output : result.outputs) {
        for (auto& [mime, representation] : output.bundle) {
            switch (execution::encoding_of(mime)) {
                case execution::Encoding::Text:
                    masker.text(representation);
                    break;
                case execution::Encoding::Json:
                    masker.json_text(representation);
                    break;
                case execution::Encoding::Binary:
                    break;
            }
        }
    }
    if (result.error) {
        masker.text(result.error->type);
        masker.text(result.error->message);
        masker.text(result.error->traceback);
        masker.text(result.error->path);
    }
    for (execution::Denial& denial : result.denials) {
        masker.text(denial.what);
    }
    if (result.session) {
        for (std::string& note : result.session->notes) {
            masker.text(note);
        }
    }
    masker.add_to(result.masked);
}

void mask_part(TypeSet types, execution::FilePart& part) {
    const std::string_view mime = part.file.mime;
    const bool media = std::ranges::any_of(
        kMediaTypes, [mime](std::string_view kind) { return mime.starts_with(kind); });
    if (media || (!mime.starts_with("text/") && part.content.contains('\0'))) {
        return;
    }
    privacy::Masker masker(types, privacy::Fill::Stars);
    std::string masked = masker.feed(part.content);
    masked += masker.finish();
    part.content = std::move(masked);
}

}  // namespace belljar::engine
