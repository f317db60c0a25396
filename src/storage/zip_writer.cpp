#include "storage/zip_writer.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/assert.h"

namespace belljar::storage {
namespace {

constexpr std::uint64_t kLargestEntry = 0xFFFFFFFE;
constexpr std::size_t kMostEntries = 0xFFFE;
constexpr std::uint16_t kNamesInUtf8 = 1U << 11;
constexpr std::uint16_t kVersion = 20;  // that can deflate
constexpr std::uint16_t kMadeByUnix = 3U << 8 | kVersion;
constexpr std::uint16_t kDeflate = 8;
constexpr std::size_t kPieceWritten = 64 * 1024;
constexpr std::size_t kSizesAt = 14;  // in the header in front of the bytes

void add_short(std::string& text, std::uint32_t value) {
    text += static_cast<char>(value & 0xFFU);
    text += static_cast<char>(value >> 8U & 0xFFU);
}

void add_long(std::string& text, std::uint64_t value) {
    add_short(text, static_cast<std::uint32_t>(value & 0xFFFFU));
    add_short(text, static_cast<std::uint32_t>(value >> 16U & 0xFFFFU));
}

// Local times are the reader's affair: these are UTC, as far as the format goes.
std::uint32_t dos_time(std::chrono::system_clock::time_point when) {
    using namespace std::chrono;
    const auto earliest = sys_days(year(1980) / 1 / 1);
    const auto latest = sys_days(year(2107) / 12 / 31);
    const auto bounded =
        std::clamp(floor<seconds>(when), sys_seconds(earliest), sys_seconds(latest));
    const auto day = floor<days>(bounded);
    const year_month_day date(day);
    const hh_mm_ss time(bounded - day);
    const auto clock = static_cast<std::uint32_t>(
        time.hours().count() << 11 | time.minutes().count() << 5 | time.seconds().count() / 2);
    const auto years = static_cast<std::uint32_t>(static_cast<int>(date.year()) - 1980);
    const std::uint32_t calendar =
        years << 9U | static_cast<unsigned>(date.month()) << 5U | static_cast<unsigned>(date.day());
    return calendar << 16U | clock;
}

struct Written {
    ZipWriter::Entry entry{};
    std::string name{};
    std::uint64_t offset = 0;
    std::uint32_t checksum = 0;
    std::uint64_t packed = 0;
    std::uint64_t size = 0;
};

// What both headers have: from the version to the lengths of name and extra field.
std::string shared_fields(const Written& written) {
    std::string text;
    add_short(text, kVersion);
    add_short(text, kNamesInUtf8);
    add_short(text, written.entry.directory ? 0 : kDeflate);
    add_long(text, dos_time(written.entry.modified));
    add_long(text, written.checksum);
    add_long(text, written.packed);
    add_long(text, written.size);
    add_short(text, static_cast<std::uint32_t>(written.name.size()));
    add_short(text, 0);
    return text;
}

std::string local_header(const Written& written) {
    std::string text;
    add_long(text, 0x04034b50);
    return text + shared_fields(written) + written.name;
}

std::string central_header(const Written& written) {
    std::string text;
    add_long(text, 0x02014b50);
    add_short(text, kMadeByUnix);
    text += shared_fields(written);
    add_short(text, 0);  // comment
    add_short(text, 0);  // part
    add_short(text, 0);  // kind of content
    const bool directory = written.entry.directory;
    const unsigned mode = directory                  ? S_IFDIR | 0755U
                          : written.entry.executable ? S_IFREG | 0755U
                                                     : S_IFREG | 0644U;
    add_long(text, static_cast<std::uint64_t>(mode) << 16U | (directory ? 0x10U : 0U));
    add_long(text, written.offset);
    return text + written.name;
}

std::unexpected<Error> too_large() {
    return fail(ErrorCode::TooLarge, "this is too much for one ZIP archive; take a part of it");
}

}  // namespace

struct ZipWriter::State {
    explicit State(const Fd& target) : file(&target), output(kPieceWritten) {
        BJ_ASSERT(::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8,
                                 Z_DEFAULT_STRATEGY) == Z_OK);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { ::deflateEnd(&stream); }

    Result<void> write(std::string_view data) {
        offset += data.size();
        if (offset > kLargestEntry) {
            return too_large();
        }
        return write_all(*file, data);
    }

    Result<void> deflate(std::string_view data, int flush) {
        // zlib does not change what it reads.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
        stream.avail_in = static_cast<uInt>(data.size());
        do {
            stream.next_out = reinterpret_cast<Bytef*>(output.data());
            stream.avail_out = static_cast<uInt>(output.size());
            BJ_ASSERT(::deflate(&stream, flush) != Z_STREAM_ERROR);
            const std::size_t made = output.size() - stream.avail_out;
            current.packed += made;
            BJ_TRY_VOID(write({output.data(), made}));
        } while (stream.avail_out == 0);
        return {};
    }

    const Fd* file;
    z_stream stream{};
    std::vector<char> output;
    std::uint64_t offset = 0;
    Written current{};
    std::vector<Written> entries{};
};

ZipWriter::ZipWriter(const Fd& file) : state_(std::make_unique<State>(file)) {}
ZipWriter::ZipWriter(ZipWriter&&) noexcept = default;
ZipWriter& ZipWriter::operator=(ZipWriter&&) noexcept = default;
ZipWriter::~ZipWriter() = default;

Result<void> ZipWriter::begin(const Entry& entry) {
    if (state_->entries.size() >= kMostEntries) {
        return too_large();
    }
    std::string name = archive_name(entry.path) + (entry.directory ? "/" : "");
    state_->current = {.entry = entry, .name = std::move(name), .offset = state_->offset};
    state_->current.checksum = static_cast<std::uint32_t>(::crc32_z(0, nullptr, 0));
    ::deflateReset(&state_->stream);
    return state_->write(local_header(state_->current));
}

Result<void> ZipWriter::append(std::string_view data) {
    Written& current = state_->current;
    current.checksum = static_cast<std::uint32_t>(
        ::crc32_z(current.checksum, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    current.size += data.size();
    if (current.size > kLargestEntry) {
        return too_large();
    }
    while (!data.empty()) {
        const std::string_view piece = data.substr(0, kPieceWritten);
        BJ_TRY_VOID(state_->deflate(piece, Z_NO_FLUSH));
        data.remove_prefix(piece.size());
    }
    return {};
}

Result<void> ZipWriter::end() {
    Written& current = state_->current;
    if (!current.entry.directory) {
        BJ_TRY_VOID(state_->deflate({}, Z_FINISH));
        const std::string header = local_header(current);
        const std::string_view sizes = std::string_view(header).substr(kSizesAt, 12);
        const ssize_t count = ::pwrite(state_->file->get(), sizes.data(), sizes.size(),
                                       static_cast<off_t>(current.offset + kSizesAt));
        if (count != static_cast<ssize_t>(sizes.size())) {
            return fail(system_error("write an archive"));
        }
    }
    state_->entries.push_back(std::exchange(current, {}));
    return {};
}

Result<std::uint64_t> ZipWriter::finish() {
    const std::uint64_t begin = state_->offset;
    for (const Written& written : state_->entries) {
        BJ_TRY_VOID(state_->write(central_header(written)));
    }
    const std::uint64_t size = state_->offset - begin;
    std::string text;
    add_long(text, 0x06054b50);
    add_long(text, 0);  // one part alone
    add_short(text, static_cast<std::uint32_t>(state_->entries.size()));
    add_short(text, static_cast<std::uint32_t>(state_->entries.size()));
    add_long(text, size);
    add_long(text, begin);
    add_short(text, 0);
    BJ_TRY_VOID(state_->write(text));
    return state_->offset;
}

std::string archive_name(std::string_view path) {
    std::string name;
    for (const char letter : path) {
        name += letter == '\\' ? std::string("%5C") : std::string(1, letter);
    }
    return name;
}

}  // namespace belljar::storage
