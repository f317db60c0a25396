#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>

#include "access/privileges.h"
#include "base/beneath.h"
#include "base/json.h"
#include "commands.h"
#include "config/duration.h"
#include "data_place.h"
#include "local_conversations.h"

namespace belljar::apps {
namespace {

using execution::CleanupOrder;
using execution::CleanupReport;
using execution::ConversationView;
using storage::ConversationStore;

constexpr std::string_view kNobody = "-";  // the principal without a name, as it is shown

std::string shown(const std::string& principal) {
    return principal.empty() ? std::string(kNobody) : principal;
}

std::string show_time(execution::WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(time));
}

std::string_view name_of(CleanupReport::Reason reason) {
    switch (reason) {
        case CleanupReport::Reason::Idle:
            return "idle";
        case CleanupReport::Reason::Age:
            return "age";
        case CleanupReport::Reason::Space:
            break;
    }
    return "space";
}

json::object to_json(const ConversationView& view) {
    return {{"principal", view.principal},
            {"conversation_id", view.conversation_id},
            {"bytes", view.bytes},
            {"files", view.files},
            {"created", show_time(view.created)},
            {"last_used", show_time(view.last_used)}};
}

// Whatever is made in the store has to be its owner's, and needs no more than its owner's rights.
Result<std::unique_ptr<ConversationStore>> open_store(const config::Settings& settings) {
    const std::string path = choose_data_directory(settings);
    const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Result<Fd> inside = directory.valid()
                                  ? open_beneath(directory, "conversations", O_RDONLY | O_DIRECTORY)
                                  : Result<Fd>(fail(system_error("open data directory")));
    struct stat status{};
    if (!inside || ::fstat(inside->get(), &status) != 0) {
        return fail(ErrorCode::NotFound,
                    fmt::format("there are no conversations of a server in {}; choose its data "
                                "directory with --data-dir",
                                path));
    }
    BJ_TRY(std::unique_ptr<ConversationStore> store,
           ConversationStore::open(directory, conversation_bounds(settings)));
    if (::geteuid() == 0 && status.st_uid != 0) {
        BJ_TRY_VOID(access::drop_privileges({.user = status.st_uid, .group = status.st_gid}));
    }
    return store;
}

// Everything, page by page.
Result<std::vector<ConversationView>> all_of(const ConversationStore& store) {
    std::vector<ConversationView> views;
    execution::PageQuery query{.limit = 1000};
    do {
        BJ_TRY(execution::ConversationPage page, store.page(std::nullopt, query));
        std::ranges::move(page.conversations, std::back_inserter(views));
        query.after = page.next;
    } while (!query.after.empty());
    return views;
}

Result<void> list(const ConversationStore& store, OutputForm form) {
    BJ_TRY(const std::vector<ConversationView> views, all_of(store));
    if (form == OutputForm::Json) {
        json::array conversations;
        for (const ConversationView& view : views) {
            conversations.push_back(to_json(view));
        }
        fmt::print("{}\n", to_text(json::object{{"conversations", std::move(conversations)}}));
        return {};
    }
    fmt::print("{:<20} {:>10} {:>8} {:<21} {}\n", "PRINCIPAL", "SIZE", "FILES", "LAST USED",
               "CONVERSATION");
    for (const ConversationView& view : views) {
        fmt::print("{:<20} {:>10} {:>8} {:<21} {}\n", shown(view.principal),
                   format_bytes(Bytes{view.bytes}), view.files, show_time(view.last_used),
                   view.conversation_id);
    }
    return {};
}

Result<void> show_usage(const ConversationStore& store, OutputForm form) {
    BJ_TRY(const std::vector<ConversationView> views, all_of(store));
    std::map<std::string, execution::StorageUsage> by_principal;
    for (const ConversationView& view : views) {
        if (!by_principal.contains(view.principal)) {
            BJ_TRY(by_principal[view.principal], store.usage({.principal = view.principal}));
        }
    }
    json::array principals;
    for (const auto& [principal, usage] : by_principal) {
        principals.push_back(json::object{{"principal", principal},
                                          {"bytes", usage.bytes},
                                          {"entries", usage.entries},
                                          {"conversations", usage.conversations},
                                          {"most_bytes", usage.most_bytes},
                                          {"most_entries", usage.most_entries},
                                          {"most_conversations", usage.most_conversations}});
        if (form == OutputForm::Text) {
            fmt::print("{}: {} of {}, {} of {} files and directories, {} of {} conversations\n",
                       shown(principal), format_bytes(Bytes{usage.bytes}),
                       format_bytes(Bytes{usage.most_bytes}), usage.entries, usage.most_entries,
                       usage.conversations, usage.most_conversations);
        }
    }
    if (form == OutputForm::Json) {
        fmt::print("{}\n", to_text(json::object{{"principals", std::move(principals)}}));
    }
    return {};
}

Result<CleanupOrder> order_of(const config::Settings& settings,
                              const ConversationOptions& options) {
    CleanupOrder order = cleanup_order(settings.storage);
    order.mode = options.dry_run ? CleanupOrder::Mode::DryRun : CleanupOrder::Mode::Remove;
    if (!options.idle.empty()) {
        BJ_TRY(const Duration idle, config::parse_duration(options.idle));
        order.idle = std::chrono::duration_cast<std::chrono::seconds>(idle);
    }
    if (!order.idle && !order.age && !order.total_bytes) {
        return fail(ErrorCode::InvalidArgument,
                    "the configuration says of no conversation that it should go; set "
                    "storage.conversation_idle, storage.conversation_age or storage.total_space, "
                    "or give --idle");
    }
    return order;
}

Result<void> clean_up(const ConversationStore& store, const config::Settings& settings,
                      const ConversationOptions& options) {
    BJ_TRY(const CleanupOrder order, order_of(settings, options));
    BJ_TRY(const CleanupReport report, store.clean_up(order));
    json::array removals;
    for (const CleanupReport::Removal& removal : report.removals) {
        json::object object = to_json(removal.conversation);
        object["reason"] = name_of(removal.reason);
        removals.push_back(std::move(object));
        if (options.form == OutputForm::Text) {
            fmt::print("{} {} ({}, {}, last used {})\n",
                       options.dry_run ? "would remove" : "removed",
                       removal.conversation.conversation_id, name_of(removal.reason),
                       format_bytes(Bytes{removal.conversation.bytes}),
                       show_time(removal.conversation.last_used));
        }
    }
    if (options.form == OutputForm::Json) {
        fmt::print("{}\n", to_text(json::object{{"dry_run", options.dry_run},
                                                {"removals", std::move(removals)},
                                                {"bytes", report.bytes},
                                                {"conversations", report.conversations},
                                                {"in_use", report.in_use}}));
        return {};
    }
    fmt::print("{} of {} conversations, {}; {} in use\n", report.removals.size(),
               report.conversations, format_bytes(Bytes{report.bytes}), report.in_use);
    return {};
}

Result<void> try_manage(const config::Loaded& loaded, const ConversationOptions& options) {
    BJ_TRY(const std::unique_ptr<ConversationStore> store, open_store(loaded.settings));
    switch (options.deed) {
        case ConversationOptions::Deed::List:
            return list(*store, options.form);
        case ConversationOptions::Deed::Usage:
            return show_usage(*store, options.form);
        case ConversationOptions::Deed::Delete:
            return store->remove_conversation(options.principal == kNobody ? "" : options.principal,
                                              options.conversation_id);
        case ConversationOptions::Deed::Cleanup:
            return clean_up(*store, loaded.settings, options);
    }
    return {};
}

}  // namespace

int manage_conversations(const config::Loaded& loaded, const ConversationOptions& options) {
    if (const Result<void> done = try_manage(loaded, options); !done) {
        complain(done.error());
        return kExitFailed;
    }
    return 0;
}

}  // namespace belljar::apps
