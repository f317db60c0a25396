#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/detection.h"
#include "runner/runners.h"

namespace belljar::engine {

// What is known of a language here. Shared by everybody who waits for its trial.
struct Language {
    enum class State {
        Absent,   // its programs are not there
        Untried,  // they are
        Trying,
        Usable,
        Failed,
    };

    runner::ManifestPtr source{};    // as it was read
    runner::ManifestPtr manifest{};  // with the program that was detected
    State state = State::Untried;
    TimePoint tried{};
    std::string version{};
    std::string reason{};  // why it cannot be used

    // As far as anybody knows.
    [[nodiscard]] bool usable() const { return state != State::Absent && state != State::Failed; }
};

using LanguagePtr = std::shared_ptr<Language>;

// The languages of a server, and which of them can be used: each is tried once in a jar, in the
// background or, if somebody asks for it before, at once. On the I/O thread.
class Languages {
   public:
    // Gives the version, or the sentence that says what went wrong.
    using Trial = std::function<Task<Result<std::string>>(LanguagePtr)>;

    Languages(const asio::any_io_executor& executor, Detection detection, Trial trial,
              const Log& log);

    // From now on these. What is known of manifests that stay is kept.
    void replace(runner::Runners runners);
    [[nodiscard]] const runner::Runners& runners() const { return runners_; }
    [[nodiscard]] const std::list<LanguagePtr>& all() const { return languages_; }
    // nullptr if nobody knows it.
    [[nodiscard]] LanguagePtr find(std::string_view name) const;
    // "python, bash": those that can be used, for messages.
    [[nodiscard]] std::string usable_names() const;

    // Until it is known whether it can be used; then Unsupported with the reason if it cannot. What
    // was not there is looked for again, and what failed a while ago is tried again.
    Task<Result<void>> await_usable(LanguagePtr language);
    // Until everything has been tried, one after the other.
    Task<void> try_all();
    // Nothing more is tried, and what fails now says nothing of a language.
    void stop() { stopping_ = true; }
    // Called after each trial.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
    // What a trial in another place has found out.
    static void set_version(Language& language, std::string version);

   private:
    void detect(Language& language) const;
    Task<void> try_out(LanguagePtr language);

    asio::any_io_executor executor_;
    Detection detection_;
    Trial trial_;
    const Log& log_;
    std::function<void()> changed_ = [] {};
    runner::Runners runners_;
    bool stopping_ = false;
    std::list<LanguagePtr> languages_;
    std::list<asio::steady_timer*> waiting_;  // for the end of any trial
};

}  // namespace belljar::engine
