#pragma once

#include <functional>
#include <string>
#include <vector>

#include "access/request_counters.h"
#include "api/route_group.h"
#include "base/log.h"
#include "config/load.h"
#include "engine/executor.h"

namespace belljar::api {

// What administrators need to keep a server in order: everybody's conversations and which of them
// can go, the configuration in force, and what to send along with a report of a fault.
class UpkeepRoutes final : public RouteGroup {
   public:
    struct Sources {
        engine::Executor* executor = nullptr;  // all are borrowed
        std::function<const config::Loaded&()> configuration{};
        std::function<json::object()> host{};  // facts about the machine
        const access::RequestCounters* requests = nullptr;
        const Log* log = nullptr;
        std::vector<std::string> secrets{};  // never told, like those of the settings
    };

    explicit UpkeepRoutes(Sources sources) : sources_(std::move(sources)) {}

    void add_to(OperationTable& table) override;

   private:
    void add_conversations(OperationTable& table);
    Task<access::HttpResponse> list_conversations(Call call);
    Task<access::HttpResponse> clean_up(Call call);
    Task<access::HttpResponse> show_configuration();
    Task<access::HttpResponse> show_version();
    Task<access::HttpResponse> diagnose();

    Sources sources_;
};

// Every key with its value and where it came from; secrets are masked.
[[nodiscard]] json::array configuration_json(const config::Loaded& loaded);

// The values of all secrets among the settings.
[[nodiscard]] std::vector<std::string> secrets_of(const config::Settings& settings);

// The text without any of them.
[[nodiscard]] std::string without_secrets(std::string text,
                                          const std::vector<std::string>& secrets);

}  // namespace belljar::api
