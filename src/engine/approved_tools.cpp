#include "engine/approved_tools.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace belljar::engine {
namespace {

using execution::Severity;

// For what the kernel does not tell: a link above the directory that leads elsewhere now.
constexpr Duration kLookAgain = std::chrono::seconds(5);

// A changed module may be somebody's way in; the rest is more likely a mistake.
Severity severity_of(std::string_view reason) {
    if (reason == "changed") {
        return Severity::High;
    }
    return reason == "missing" ? Severity::Low : Severity::Medium;
}

}  // namespace

ApprovedTools::ApprovedTools(const asio::any_io_executor& executor,
                             std::optional<approved::Source> source, const Log& log)
    : source_(std::move(source)), log_(log), watch_(executor) {}

void ApprovedTools::load() {
    if (std::exchange(loaded_, true) || !source_) {
        return;
    }
    Result<approved::Collection> read = approved::read_collection(*source_);
    if (!read) {
        tell("manifest", read.error().message, "");
        return;
    }
    tell_refusals(read->refusals);
    shelf_.adopt(std::move(*read));
}

Task<void> ApprovedTools::begin(Trial trial, Tell tell) {
    trial_ = std::move(trial);
    tell_ = std::move(tell);
    if (std::exchange(loaded_, true) || !source_) {
        co_return;
    }
    // Nobody is served yet who could be kept waiting.
    Result<approved::Collection> read = approved::read_collection(*source_);
    [[maybe_unused]] const bool changed = co_await renew(std::move(read));
}

Task<void> ApprovedTools::watch(std::function<void()> renewed) {
    std::vector<Identity> known;
    while (source_ && !watch_.stopped()) {
        watch_.look_at(approved::watched_places(*source_));
        known = identities();
        Result<approved::Collection> read = co_await threads_.run(
            [source = *source_] { return approved::read_collection(source); });
        const bool changed = co_await renew(std::move(read));
        if (changed) {
            renewed();
        }
        bool news = false;
        while (!news && !watch_.stopped()) {
            news = co_await watch_.await_change(kLookAgain);
            // After a rest without news: a look at links, and another trial if the last one failed.
            news = news || identities() != known || read_digest_.empty();
        }
    }
}

void ApprovedTools::stop() { watch_.stop(); }

std::vector<ApprovedTools::Identity> ApprovedTools::identities() const {
    std::vector<Identity> found;
    for (const std::string& path : {source_->path, source_->manifest}) {
        struct stat status{};
        const bool there = !path.empty() && ::stat(path.c_str(), &status) == 0;
        found.push_back(there ? Identity{.device = status.st_dev, .inode = status.st_ino}
                              : Identity{});
    }
    return found;
}

Task<bool> ApprovedTools::renew(Result<approved::Collection> read) {
    if (!read) {
        if (std::exchange(problem_, read.error().message) != read.error().message) {
            tell("manifest",
                 fmt::format("{}; what was served before still is", read.error().message), "");
        }
        co_return false;
    }
    problem_.clear();
    if (read->digest == read_digest_) {
        co_return false;
    }
    read_digest_ = read->digest;
    Result<approved::Collection> tried = co_await trial_(std::move(*read));
    if (!tried) {
        read_digest_.clear();  // it is tried again
        tell("trial", fmt::format("the tools could not be tried: {}", tried.error().message), "");
        co_return false;
    }
    tell_refusals(tried->refusals);
    log_.info("approved tools are served",
              {{"modules", static_cast<std::int64_t>(tried->modules.size())},
               {"refused", static_cast<std::int64_t>(tried->refusals.size())},
               {"digest", tried->digest}});
    shelf_.adopt(std::move(*tried));
    co_return true;
}

// Each once, until it is over.
void ApprovedTools::tell_refusals(const std::vector<approved::Refusal>& refusals) {
    for (const approved::Refusal& refusal : refusals) {
        if (std::ranges::find(told_, refusal) == told_.end()) {
            tell(refusal.reason, fmt::format("{} is not served: {}", refusal.file, refusal.text),
                 refusal.file);
        }
    }
    told_ = refusals;
}

void ApprovedTools::tell(const std::string& name, const std::string& text,
                         const std::string& file) {
    log_.warning("an approved tool is not served",
                 {{"file", file}, {"reason", name}, {"text", text}});
    if (tell_) {
        tell_({.kind = "tool",
               .name = name,
               .severity = severity_of(name),
               .time = std::chrono::system_clock::now(),
               .text = text,
               .details = {{"file", file}}});
    }
}

}  // namespace belljar::engine
