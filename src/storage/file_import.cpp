#include "storage/file_import.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <set>

#include "base/beneath.h"

namespace belljar::storage {
namespace {

using execution::Existing;
using Taken = std::map<std::string, bool, std::less<>>;  // whether it is a directory

// The path of the directory that it is in; empty: the topmost.
std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string joined(const std::string& directory, const std::string& path) {
    return directory.empty() ? path : directory + "/" + path;
}

Result<void> check_parents(const Taken& taken, const std::string& path) {
    for (std::string parent = parent_of(path); !parent.empty(); parent = parent_of(parent)) {
        const auto found = taken.find(parent);
        if (found != taken.end() && !found->second) {
            return fail(ErrorCode::Conflict,
                        fmt::format("\"{}\" cannot be made: \"{}\" is a file", path, parent));
        }
    }
    return {};
}

// Where the files will be, if they can all be there.
Result<std::vector<std::string>> choose_places(const ImportOrder& order) {
    std::vector<std::string> places;
    std::set<std::string, std::less<>> files;
    for (const IncomingFile& file : order.files) {
        const std::string& place = places.emplace_back(joined(order.directory, file.path));
        if (!is_plain_path(file.path) || !is_plain_path(place)) {
            return fail(ErrorCode::InvalidArgument,
                        "a path has to be relative and without \"..\", in at most 1024 bytes");
        }
        if (!files.insert(place).second) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("two of the files are called \"{}\"", place));
        }
    }
    for (const std::string& place : places) {
        for (std::string parent = parent_of(place); !parent.empty(); parent = parent_of(parent)) {
            if (files.contains(parent)) {
                return fail(ErrorCode::InvalidArgument,
                            fmt::format("\"{}\" cannot be both a file and a directory", parent));
            }
        }
    }
    return places;
}

Result<void> check_room(const ConversationDirectory& directory, Existing existing,
                        const std::vector<std::string>& places) {
    BJ_TRY(const std::vector<StoredEntry> entries, directory.walk());
    Taken taken;
    for (const StoredEntry& entry : entries) {
        taken.emplace(entry.path, entry.directory);
    }
    for (const std::string& place : places) {
        const auto found = taken.find(place);
        if (found != taken.end() && (found->second || existing == Existing::Kept)) {
            return fail(ErrorCode::Conflict,
                        fmt::format("\"{}\" is there already{}", place,
                                    found->second ? " and is a directory" : ""));
        }
        BJ_TRY_VOID(check_parents(taken, place));
    }
    return {};
}

}  // namespace

Result<std::vector<ConversationChanges::Done>> import_files(const ConversationDirectory& directory,
                                                            ConversationBounds bounds,
                                                            TimePoint deadline,
                                                            const ImportOrder& order) {
    BJ_TRY(const std::vector<std::string> places, choose_places(order));
    BJ_TRY(ConversationChanges changes, ConversationChanges::begin(directory, bounds, deadline));
    BJ_TRY_VOID(check_room(directory, order.existing, places));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (std::size_t index = 0; index < places.size(); ++index) {
        const IncomingFile& file = order.files[index];
        BJ_TRY_VOID(changes.begin_file({.path = places[index],
                                        .modified = std::chrono::nanoseconds(now).count(),
                                        .executable = file.executable}));
        BJ_TRY_VOID(file.content([&changes](std::string_view data) {
            return data.empty() ? Result<void>{} : changes.append(data);
        }));
        BJ_TRY_VOID(changes.end_file());
    }
    return changes.finish(ConversationChanges::Placing::AllOrNone);
}

}  // namespace belljar::storage
