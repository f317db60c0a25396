#include "storage/tally.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <thread>

#include "base/beneath.h"
#include "storage/conversation_directory.h"
#include "storage/directory_names.h"

namespace belljar::storage {
namespace {

constexpr const char* kTally = "tally";
constexpr Bytes kLargest{128};
constexpr auto kLockPause = std::chrono::milliseconds(2);

}  // namespace

Result<Fd> lock_principal(const Fd& owner, TimePoint deadline) {
    BJ_TRY(Fd held, open_beneath(owner, ".", O_RDONLY | O_DIRECTORY));
    while (::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return fail(system_error("flock"));
        }
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::Conflict, "your files are being changed; try again");
        }
        std::this_thread::sleep_for(kLockPause);
    }
    return held;
}

std::optional<Tally> read_tally(const Fd& conversation) {
    const Result<Fd> file = open_beneath(conversation, kTally, O_RDONLY);
    const Result<std::string> text = file ? read_all(*file, kLargest) : fail(file.error());
    if (!text) {
        return std::nullopt;
    }
    std::array<std::uint64_t, 3> numbers{};
    const char* next = text->data();
    const char* const end = text->data() + text->size();
    for (std::uint64_t& number : numbers) {
        const auto read = std::from_chars(next, end, number);
        if (read.ec != std::errc() || read.ptr == end) {
            return std::nullopt;  // each one is followed by something
        }
        next = read.ptr + 1;
    }
    return Tally{.bytes = numbers[0], .files = numbers[1], .entries = numbers[2]};
}

Result<void> begin_tally(const Fd& conversation) {
    BJ_TRY_VOID(open_beneath(conversation, kTally, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    return {};
}

// One that could not be written whole is none.
void write_tally(const Fd& conversation, const Tally& tally) {
    const Result<Fd> file = open_beneath(conversation, kTally, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file) {
        [[maybe_unused]] const Result<void> written =
            write_all(*file, fmt::format("{} {} {}\n", tally.bytes, tally.files, tally.entries));
    }
}

Result<Tally> count_files(const Fd& conversation) {
    BJ_TRY(Fd copy, open_beneath(conversation, ".", O_RDONLY | O_DIRECTORY));
    BJ_TRY(const ConversationDirectory directory,
           ConversationDirectory::open(std::move(copy), Fd(), ""));
    BJ_TRY(const std::vector<StoredEntry> entries, directory.walk());
    Tally tally{.entries = entries.size()};
    for (const StoredEntry& entry : entries) {
        tally.bytes += entry.size;
        tally.files += entry.directory ? 0 : 1;
    }
    return tally;
}

Tally tally_others(const Fd& owner, const std::string& except) {
    Tally sum;
    for (const std::string& name : names_in(owner)) {
        if (!is_hash(name) || name == except) {
            continue;
        }
        const Result<Fd> conversation = open_beneath(owner, name, O_RDONLY | O_DIRECTORY);
        if (!conversation) {
            continue;  // removed meanwhile
        }
        std::optional<Tally> tally = read_tally(*conversation);
        if (!tally) {
            const Result<Tally> counted = count_files(*conversation);
            tally = counted ? *counted : Tally{};
        }
        sum.bytes += tally->bytes;
        sum.files += tally->files;
        sum.entries += tally->entries;
    }
    return sum;
}

}  // namespace belljar::storage
