#include "mcp/notices.h"

#include "base/utf8.h"

namespace belljar::mcp {

bool tell_progress(const Asker& asker, const Progress& progress) {
    if (!asker.notify || !asker.wishes.wants_progress()) {
        return true;
    }
    json::object params{{"progressToken", asker.wishes.progress_token},
                        {"progress", progress.done}};
    if (progress.total) {
        params["total"] = *progress.total;
    }
    if (!progress.message.empty() && asker.wishes.revision >= Revision::V2025_03_26) {
        params["message"] = make_valid_utf8(progress.message);
    }
    return asker.notify(notification_message("notifications/progress", std::move(params)));
}

bool tell_log(const Asker& asker, Severity severity, json::value data) {
    if (!asker.notify || !asker.wishes.log_level || severity < *asker.wishes.log_level) {
        return true;
    }
    return asker.notify(notification_message(
        "notifications/message", {{"level", name_of(severity)}, {"data", std::move(data)}}));
}

}  // namespace belljar::mcp
