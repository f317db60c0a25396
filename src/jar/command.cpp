#include "jar/command.h"

#include <algorithm>
#include <string_view>

namespace belljar::jar {
namespace {

Result<void> append(CommandText& all, const std::string& text) {
    if (text.find('\0') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument, "a NUL byte in the command");
    }
    if (text.size() + 1 > all.text.size() - all.text_length) {
        return fail(ErrorCode::TooLarge, "the command is too long");
    }
    std::ranges::copy(text, all.text.begin() + all.text_length);
    all.text_length += static_cast<std::uint32_t>(text.size() + 1);
    return {};
}

}  // namespace

Result<CommandText> to_text(const Command& command) {
    CommandText all{};
    all.argument_count = static_cast<std::uint32_t>(command.arguments.size());
    all.variable_count = static_cast<std::uint32_t>(command.environment.size());
    for (const std::string& argument : command.arguments) {
        BJ_TRY_VOID(append(all, argument));
    }
    for (const std::string& variable : command.environment) {
        BJ_TRY_VOID(append(all, variable));
    }
    return all;
}

Result<Command> command_of(const CommandText& text) {
    if (text.text_length > text.text.size() || text.argument_count == 0) {
        return fail(ErrorCode::InvalidArgument, "a malformed command");
    }
    std::string_view rest(text.text.data(), text.text_length);
    std::vector<std::string> strings;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\0');
        if (end == std::string_view::npos) {
            return fail(ErrorCode::InvalidArgument, "a malformed command");
        }
        strings.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    const std::uint64_t expected =
        std::uint64_t{text.argument_count} + std::uint64_t{text.variable_count};
    if (strings.size() != expected) {
        return fail(ErrorCode::InvalidArgument, "a malformed command");
    }
    const auto middle = strings.begin() + text.argument_count;
    return Command{.arguments = {strings.begin(), middle}, .environment = {middle, strings.end()}};
}

}  // namespace belljar::jar
