#include "config/origin.h"

#include <fmt/format.h>

namespace belljar::config {
namespace {

std::string describe_source(const Origin& origin) {
    switch (origin.source) {
        case Origin::Source::Default:
            return "default";
        case Origin::Source::File:
            return fmt::format("{}:{}", origin.name, origin.line);
        case Origin::Source::Environment:
            return fmt::format("environment {}", origin.name);
        case Origin::Source::Flag:
            return fmt::format("flag {}", origin.name);
    }
    return origin.name;
}

}  // namespace

std::string Origin::describe() const {
    const std::string described = describe_source(*this);
    return note.empty() ? described : fmt::format("{}, {}", described, note);
}

}  // namespace belljar::config
