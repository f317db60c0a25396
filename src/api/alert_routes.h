#pragma once

#include <boost/json/object.hpp>
#include <functional>

#include "api/route_group.h"
#include "engine/alarm.h"

namespace belljar::api {

// Alerts for those who are to know, and what operators do about them: blocks and quarantines.
class AlertRoutes final : public RouteGroup {
   public:
    struct Sources {
        engine::Alarm* alarm = nullptr;           // outlives this
        std::function<json::object()> webhook{};  // its figures; none: there is no webhook
        // Of everybody, also those in quarantine; outlives this. None: there are none.
        engine::Conversations* evidence = nullptr;
    };

    explicit AlertRoutes(Sources sources) : sources_(std::move(sources)) {}

    void add_to(OperationTable& table) override;

   private:
    void add_alerts(OperationTable& table);
    void add_blocks(OperationTable& table);
    void add_quarantines(OperationTable& table);
    void add_evidence(OperationTable& table);

    Task<access::HttpResponse> list_alerts(Call call);
    Task<access::HttpResponse> list_blocks();
    Task<access::HttpResponse> block(Call call);
    Task<access::HttpResponse> lift_block(Call call);
    Task<access::HttpResponse> list_quarantines();
    Task<access::HttpResponse> quarantine(Call call);
    Task<access::HttpResponse> lift_quarantine(Call call);
    Task<access::HttpResponse> list_evidence(Call call);
    Task<access::HttpResponse> send_evidence(Call call);
    // NotFound unless it is one in quarantine.
    [[nodiscard]] Result<execution::FileName> find_quarantined(const Call& call) const;

    Sources sources_;
};

}  // namespace belljar::api
