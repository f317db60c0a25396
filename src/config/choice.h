#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/ascii.h"
#include "config/settings.h"

namespace belljar::config {

// A word an operator writes and what it stands for; the first word of a meaning is the one shown.
template <typename T>
struct Choice {
    std::string_view word;
    T meaning;
};

inline constexpr std::array<Choice<Switch>, 8> kSwitchChoices{{{"false", Switch::Off},
                                                               {"true", Switch::On},
                                                               {"off", Switch::Off},
                                                               {"on", Switch::On},
                                                               {"no", Switch::Off},
                                                               {"yes", Switch::On},
                                                               {"0", Switch::Off},
                                                               {"1", Switch::On}}};
inline constexpr std::array<Choice<AuthMode>, 3> kAuthModeChoices{
    {{"token", AuthMode::Token}, {"none", AuthMode::None}, {"oauth", AuthMode::OAuth}}};
inline constexpr std::array<Choice<IsolationFloor>, 3> kIsolationFloorChoices{
    {{"full", IsolationFloor::Full},
     {"standard", IsolationFloor::Standard},
     {"basic", IsolationFloor::Basic}}};
inline constexpr std::array<Choice<LaunchMode>, 4> kLaunchModeChoices{
    {{"auto", LaunchMode::Auto},
     {"root", LaunchMode::Root},
     {"rootless", LaunchMode::Rootless},
     {"nested", LaunchMode::Nested}}};
inline constexpr std::array<Choice<LogLevel>, 5> kLogLevelChoices{{{"debug", LogLevel::Debug},
                                                                   {"info", LogLevel::Info},
                                                                   {"warning", LogLevel::Warning},
                                                                   {"error", LogLevel::Error},
                                                                   {"warn", LogLevel::Warning}}};

inline constexpr std::array<Choice<AuditCode>, 2> kAuditCodeChoices{
    {{"digest", AuditCode::Digest}, {"full", AuditCode::Full}}};
inline constexpr std::array<Choice<AuditFailure>, 2> kAuditFailureChoices{
    {{"stop", AuditFailure::Stop}, {"count", AuditFailure::Count}}};
inline constexpr std::array<Choice<Unlisted>, 2> kUnlistedChoices{
    {{"refuse", Unlisted::Refuse}, {"serve", Unlisted::Serve}}};

inline std::span<const Choice<Switch>> choices_for(Switch) { return kSwitchChoices; }
inline std::span<const Choice<AuthMode>> choices_for(AuthMode) { return kAuthModeChoices; }
inline std::span<const Choice<LaunchMode>> choices_for(LaunchMode) { return kLaunchModeChoices; }
inline std::span<const Choice<IsolationFloor>> choices_for(IsolationFloor) {
    return kIsolationFloorChoices;
}
inline std::span<const Choice<AuditCode>> choices_for(AuditCode) { return kAuditCodeChoices; }
inline std::span<const Choice<AuditFailure>> choices_for(AuditFailure) {
    return kAuditFailureChoices;
}
inline std::span<const Choice<Unlisted>> choices_for(Unlisted) { return kUnlistedChoices; }
inline std::span<const Choice<LogLevel>> choices_for(LogLevel) { return kLogLevelChoices; }

template <typename T>
concept Enumeration = std::is_enum_v<T>;

// Upper and lower case do not matter.
template <Enumeration T>
[[nodiscard]] std::optional<T> meaning_of(std::string_view text) {
    const std::string word = to_lower(text);
    const std::span<const Choice<T>> choices = choices_for(T{});
    const auto found = std::ranges::find(choices, std::string_view(word), &Choice<T>::word);
    return found == choices.end() ? std::nullopt : std::optional(found->meaning);
}

template <Enumeration T>
[[nodiscard]] std::string_view word_for(T meaning) {
    return std::ranges::find(choices_for(meaning), meaning, &Choice<T>::meaning)->word;
}

}  // namespace belljar::config
