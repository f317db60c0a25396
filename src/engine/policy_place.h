#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "policy/rulebook.h"

namespace belljar::engine {

// Where the operator's rules are written: a file, or a directory of files that end with .toml. Read
// as a whole, and again when something changes, also by links that are swapped, as Kubernetes and
// git do it. Files count only if nobody but root and this user can have written them. On the I/O
// thread.
class PolicyPlace {
   public:
    using Rules = std::shared_ptr<const policy::Rulebook>;

    // `path`: empty for no files at all.
    PolicyPlace(const asio::any_io_executor& executor, std::string path,
                policy::Rulebook::Grounds grounds);

    // The rules as they are written now; the error names file, line, key and what is allowed.
    [[nodiscard]] Result<Rules> read();

    // These are in force already.
    void begin_with(const policy::Rulebook& rules) { version_ = rules.version(); }

    struct Listener {
        std::function<void(Rules)> changed{};
        std::function<void(std::string)> refused{};  // once for each reason
    };
    // Tells of what is different from what read() gave last. Until stop().
    Task<void> watch(Listener listener);
    // Looks now.
    void look(const Listener& listener);
    void stop();

   private:
    bool begin_watch();
    void drain_events();
    Task<void> await_change();
    Task<void> rest(Duration duration);

    std::string path_;
    policy::Rulebook::Grounds grounds_;
    std::string version_;  // of what was read last
    std::string refused_;  // why what is written now is not in force
    asio::posix::stream_descriptor events_;
    asio::steady_timer timer_;
    std::vector<int> watched_;
    bool stopping_ = false;
};

// What is written in a file or a directory. Fails as read() does.
[[nodiscard]] Result<std::vector<policy::PolicyText>> read_policy_files(const std::string& path);

}  // namespace belljar::engine
