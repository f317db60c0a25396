#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "config/load.h"

namespace belljar::apps {

// Reads the configuration again and hands what changed to whoever can take it while the server
// runs. A configuration that is not valid changes nothing. Used on the I/O thread.
class Reload {
   public:
    // Takes over the settings; what fails is logged with its reason.
    using Apply = std::function<Result<void>(const config::Settings&)>;

    // `loaded` is what the server was started with; the log is borrowed.
    Reload(config::Loaded loaded, const Log& log);

    // `apply` is called when one of the keys has changed. A key that nobody takes needs a restart.
    void on_change(std::vector<std::string_view> keys, Apply apply);
    // Called at every reload, whether something has changed or not: for files to read again.
    void on_reload(Apply apply);

    // Told of every reload: the keys whose values have changed; nothing if the configuration is not
    // valid.
    using Watch = std::function<void(const std::optional<std::vector<std::string_view>>& changed)>;
    void watch(Watch watch) { watch_ = std::move(watch); }

    // Says in the log what changed, key by key; never the value of a secret.
    void run();

    // What is in force: keys that need a restart keep their value.
    [[nodiscard]] const config::Settings& settings() const { return loaded_.settings; }
    // Every key with its value and where it came from.
    [[nodiscard]] const config::Loaded& loaded() const { return loaded_; }

   private:
    struct Subscriber {
        std::vector<std::string_view> keys;  // empty: always
        Apply apply;
    };

    // The keys whose values differ and that somebody takes.
    [[nodiscard]] std::vector<std::string_view> take_over(const config::Loaded& fresh);
    [[nodiscard]] bool is_taken(std::string_view key) const;
    void tell(const std::vector<std::string_view>& changed);

    config::Loaded loaded_;
    const Log& log_;
    std::vector<Subscriber> subscribers_;
    Watch watch_;
};

}  // namespace belljar::apps
