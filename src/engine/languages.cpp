#include "engine/languages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "runner/launch.h"

namespace belljar::engine {
namespace {

// Beyond what any trial may take, each of which has a deadline of its own.
constexpr Duration kLongestTrial = std::chrono::seconds(120);
constexpr Duration kTryAgain = std::chrono::minutes(1);

}  // namespace

Languages::Languages(const asio::any_io_executor& executor, Detection detection, Trial trial,
                     const Log& log)
    : executor_(executor), detection_(std::move(detection)), trial_(std::move(trial)), log_(log) {}

void Languages::replace(runner::Runners runners) {
    std::list<LanguagePtr> next;
    for (const runner::ManifestPtr& manifest : runners.all()) {
        const auto known = std::ranges::find_if(
            languages_, [&](const LanguagePtr& language) { return language->source == manifest; });
        if (known != languages_.end()) {
            next.push_back(*known);
            continue;
        }
        auto language = std::make_shared<Language>(Language{.source = manifest});
        detect(*language);
        next.push_back(std::move(language));
    }
    languages_ = std::move(next);
    runners_ = std::move(runners);
}

void Languages::detect(Language& language) const {
    const Result<std::string> program = detection_.find(*language.source);
    language.state = program ? Language::State::Untried : Language::State::Absent;
    language.reason = program ? "" : program.error().message;
    language.manifest = program ? runner::with_program(language.source, *program) : language.source;
}

LanguagePtr Languages::find(std::string_view name) const {
    const runner::ManifestPtr manifest = runners_.find(name);
    for (const LanguagePtr& language : languages_) {
        if (manifest != nullptr && language->source == manifest) {
            return language;
        }
    }
    return nullptr;
}

std::string Languages::usable_names() const {
    std::vector<std::string> names;
    for (const LanguagePtr& language : languages_) {
        if (language->usable()) {
            names.push_back(language->manifest->language);
        }
    }
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Task<Result<void>> Languages::await_usable(LanguagePtr language) {
    const bool failed = language->state == Language::State::Failed;
    if (language->state == Language::State::Absent ||
        (failed && Clock::now() - language->tried > kTryAgain)) {
        detect(*language);
    }
    if (language->state == Language::State::Untried) {
        co_await try_out(language);
    }
    const TimePoint give_up = Clock::now() + kLongestTrial;
    while (language->state == Language::State::Trying && Clock::now() < give_up) {
        asio::steady_timer wait(executor_, give_up);
        waiting_.push_back(&wait);
        boost::system::error_code ignored;
        co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        std::erase(waiting_, &wait);
    }
    if (language->state == Language::State::Usable) {
        co_return Result<void>{};
    }
    co_return fail(ErrorCode::Unsupported,
                   fmt::format("{} cannot be used here: {}; usable are: {}",
                               language->manifest->language, language->reason, usable_names()));
}

Task<void> Languages::try_all() {
    const std::list<LanguagePtr> all = languages_;
    for (const LanguagePtr& language : all) {
        if (stopping_) {
            co_return;
        }
        [[maybe_unused]] const Result<void> usable = co_await await_usable(language);
    }
}

void Languages::set_version(Language& language, std::string version) {
    language.state = Language::State::Usable;
    language.version = std::move(version);
}

Task<void> Languages::try_out(LanguagePtr language) {
    language->state = Language::State::Trying;
    language->tried = Clock::now();
    Result<std::string> version = co_await trial_(language);
    if (version) {
        set_version(*language, std::move(*version));
    } else if (stopping_ || version.error().code == ErrorCode::Cancelled) {
        language->state = Language::State::Untried;  // that says nothing of it
    } else {
        language->state = Language::State::Failed;
        language->reason = version.error().message;
        log_.warning("a language cannot be used", {{"language", language->manifest->language},
                                                   {"reason", version.error().describe()}});
    }
    for (asio::steady_timer* wait : waiting_) {
        wait->cancel();
    }
    changed_();
}

}  // namespace belljar::engine
