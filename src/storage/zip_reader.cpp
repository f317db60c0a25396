#include "storage/zip_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>

#include "base/beneath.h"

namespace belljar::storage {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kMostComment = 0xFFFF;
constexpr std::uint64_t kMostDirectory = 16ULL * 1024 * 1024;
constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;  // the size stands in a ZIP64 field
constexpr std::uint16_t kEncrypted = 1U | 1U << 6 | 1U << 13;
constexpr std::uint16_t kSizesFollow = 1U << 3;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::size_t kPiece = 64 * 1024;

std::unexpected<Error> refuse(std::string_view why) {
    return fail(ErrorCode::InvalidArgument, fmt::format("the archive cannot be taken: {}", why));
}

std::uint16_t short_at(std::string_view data, std::size_t at) {
    const auto low = static_cast<unsigned char>(data[at]);
    const auto high = static_cast<unsigned char>(data[at + 1]);
    return static_cast<std::uint16_t>(low | high << 8);
}

std::uint32_t long_at(std::string_view data, std::size_t at) {
    return short_at(data, at) | static_cast<std::uint32_t>(short_at(data, at + 2)) << 16;
}

// All of it; an archive that ends before is refused.
Result<std::string> read_at(const Fd& file, std::uint64_t offset, std::size_t length) {
    std::string data(length, '\0');
    std::size_t done = 0;
    while (done < length) {
        const ssize_t count = ::pread(file.get(), data.data() + done, length - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail(system_error("read an archive"));
        }
        if (count == 0) {
            return refuse("it ends too early");
        }
        done += static_cast<std::size_t>(count);
    }
    return data;
}

// The list of entries, as the end of the archive tells of it.
struct Directory {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::size_t entries = 0;
};

Result<Directory> find_directory(const Fd& file, std::uint64_t size) {
    if (size < kEndBytes) {
        return refuse("it is no ZIP archive");
    }
    const std::uint64_t length = std::min<std::uint64_t>(size, kEndBytes + kMostComment);
    BJ_TRY(const std::string tail, read_at(file, size - length, static_cast<std::size_t>(length)));
    std::optional<std::size_t> found;
    for (std::size_t at = 0; at + kEndBytes <= tail.size(); ++at) {
        if (long_at(tail, at) == kEndSignature &&
            at + kEndBytes + short_at(tail, at + 20) == tail.size()) {
            if (found) {
                return refuse("it has two ends");
            }
            found = at;
        }
    }
    if (!found) {
        return refuse("it is no ZIP archive, or its end is missing");
    }
    const std::string_view end = std::string_view(tail).substr(*found);
    const std::uint64_t end_offset = size - length + *found;
    const Directory directory{
        .offset = long_at(end, 16), .size = long_at(end, 12), .entries = short_at(end, 10)};
    if (short_at(end, 4) != 0 || short_at(end, 6) != 0 || short_at(end, 8) != directory.entries) {
        return refuse("it is one of several parts");
    }
    if (directory.offset == kElsewhere || directory.size == kElsewhere ||
        directory.entries == 0xFFFF) {
        return refuse("it is in the ZIP64 form, for archives of more than 4 GiB or 65534 entries");
    }
    if (directory.offset + directory.size != end_offset) {
        return refuse("its list of entries is not where it should be");
    }
    if (directory.size > kMostDirectory) {
        return fail(ErrorCode::TooLarge, "the archive's list of entries is too large");
    }
    return directory;
}

// The path of an entry's name, without the slash that a directory's has.
Result<std::string> check_name(std::string name) {
    if (name.ends_with('/')) {
        name.pop_back();
    }
    const bool has_drive = name.size() >= 2 && name[1] == ':';
    if (!is_plain_path(name) || name.contains('\\') || has_drive) {
        return refuse(
            "a name in it is no relative path of plain names, in UTF-8, without \"..\", a "
            "backslash or a drive");
    }
    return name;
}

// Only what Unix programs say of it: others have no links.
Result<void> check_kind(std::uint16_t made_by, std::uint32_t attributes, bool directory) {
    constexpr unsigned kUnix = 3;
    constexpr unsigned kDarwin = 19;
    const unsigned system = made_by >> 8U;
    const mode_t mode = attributes >> 16U;
    const mode_t kind = mode & S_IFMT;
    if ((system != kUnix && system != kDarwin) || kind == 0) {
        return {};
    }
    if (kind != (directory ? S_IFDIR : S_IFREG)) {
        return refuse("it has links, devices or other things that are no files");
    }
    return {};
}

struct Central {
    ZipEntry entry{};
    bool directory = false;
    std::uint16_t flags = 0;
    std::string name{};  // as it stands there
};

// Reads an entry of the list and moves behind it.
Result<Central> read_central(std::string_view& list) {
    if (list.size() < kCentralBytes || long_at(list, 0) != kCentralSignature) {
        return refuse("its list of entries is damaged");
    }
    const std::size_t name_length = short_at(list, 28);
    const std::size_t length =
        kCentralBytes + name_length + short_at(list, 30) + short_at(list, 32);
    if (length > list.size()) {
        return refuse("its list of entries is damaged");
    }
    Central central{.flags = short_at(list, 8),
                    .name = std::string(list.substr(kCentralBytes, name_length))};
    const std::uint16_t method = short_at(list, 10);
    const std::uint32_t attributes = long_at(list, 38);
    central.directory = central.name.ends_with('/');
    central.entry = {.executable = (attributes >> 16U & 0100U) != 0,
                     .deflated = method == kDeflated,
                     .checksum = long_at(list, 16),
                     .size = long_at(list, 24),
                     .packed = long_at(list, 20),
                     .header = long_at(list, 42)};
    BJ_TRY(central.entry.path, check_name(central.name));
    BJ_TRY_VOID(check_kind(short_at(list, 4), attributes, central.directory));
    if ((central.flags & kEncrypted) != 0) {
        return refuse("it is encrypted");
    }
    if (method != kStored && method != kDeflated) {
        return refuse("it is compressed in a way other than deflate");
    }
    const ZipEntry& entry = central.entry;
    if (entry.size == kElsewhere || entry.packed == kElsewhere || entry.header == kElsewhere) {
        return refuse("it is in the ZIP64 form, for archives of more than 4 GiB");
    }
    if ((!entry.deflated && entry.packed != entry.size) || short_at(list, 34) != 0 ||
        (central.directory && entry.size != 0)) {
        return refuse("what it says about an entry cannot be");
    }
    list.remove_prefix(length);
    return central;
}

// The header in front of the bytes has to say the same.
Result<void> check_local(const Fd& file, std::uint64_t end, Central& central) {
    ZipEntry& entry = central.entry;
    if (entry.header + kLocalBytes + central.name.size() > end) {
        return refuse("an entry lies outside of it");
    }
    BJ_TRY(const std::string local, read_at(file, entry.header, kLocalBytes + central.name.size()));
    const std::uint16_t flags = short_at(local, 6);
    const bool same = long_at(local, 0) == kLocalSignature && flags == central.flags &&
                      short_at(local, 8) == (entry.deflated ? kDeflated : kStored) &&
                      short_at(local, 26) == central.name.size() &&
                      std::string_view(local).substr(kLocalBytes) == central.name;
    const auto agrees = [&](std::size_t at, std::uint64_t told) {
        const std::uint32_t here = long_at(local, at);
        return here == told || here == kElsewhere || (here == 0 && (flags & kSizesFollow) != 0);
    };
    if (!same || !agrees(18, entry.packed) || !agrees(22, entry.size)) {
        return refuse("what it says about an entry in two places is not the same");
    }
    entry.data = entry.header + kLocalBytes + central.name.size() + short_at(local, 28);
    if (entry.data + entry.packed > end) {
        return refuse("an entry lies outside of it");
    }
    return {};
}

Result<void> check_overlap(std::vector<ZipEntry> entries) {
    std::ranges::sort(entries, {}, &ZipEntry::header);
    for (std::size_t index = 1; index < entries.size(); ++index) {
        if (entries[index - 1].data + entries[index - 1].packed > entries[index].header) {
            return refuse("two entries share the same bytes");
        }
    }
    return {};
}

Result<void> check_total(const std::vector<ZipEntry>& entries, std::uint64_t archive,
                         const ZipBounds& bounds) {
    std::uint64_t total = 0;  // of at most 65534 times 4 GiB
    for (const ZipEntry& entry : entries) {
        total += entry.size;
    }
    if (total > bounds.content.count) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("the archive holds more than {}", format_bytes(bounds.content)));
    }
    if (total > bounds.unsuspicious.count && total / bounds.ratio > archive) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("the archive's content is more than {} times as large as itself",
                                bounds.ratio));
    }
    return {};
}

// Ends what zlib has begun.
class Inflater {
   public:
    Inflater() { begun_ = ::inflateInit2(&stream, -MAX_WBITS) == Z_OK; }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater() {
        if (begun_) {
            ::inflateEnd(&stream);
        }
    }
    [[nodiscard]] bool begun() const { return begun_; }

    z_stream stream{};

   private:
    bool begun_ = false;
};

// Counts and sums up what goes through.
class Checked {
   public:
    Checked(const ZipEntry& entry, const ByteSink& sink) : entry_(entry), sink_(sink) {}

    Result<void> take(std::string_view data) {
        given_ += data.size();
        if (given_ > entry_.size) {
            return refuse("an entry is larger than it says");
        }
        sum_ = ::crc32_z(sum_, reinterpret_cast<const Bytef*>(data.data()), data.size());
        return sink_(data);
    }

    [[nodiscard]] Result<void> finish() const {
        if (given_ != entry_.size || sum_ != entry_.checksum) {
            return refuse("an entry is damaged");
        }
        return {};
    }

   private:
    const ZipEntry& entry_;
    const ByteSink& sink_;
    std::uint64_t given_ = 0;
    uLong sum_ = ::crc32_z(0, nullptr, 0);
};

}  // namespace

Result<ZipReader> ZipReader::open(const Fd& file, std::uint64_t size, const ZipBounds& bounds) {
    BJ_TRY(const Directory directory, find_directory(file, size));
    if (directory.entries > bounds.entries) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("the archive has more than {} entries", bounds.entries));
    }
    BJ_TRY(const std::string list,
           read_at(file, directory.offset, static_cast<std::size_t>(directory.size)));
    std::string_view rest = list;
    std::vector<ZipEntry> entries;
    std::set<std::string, std::less<>> names;
    ZipReader reader(file);
    for (std::size_t index = 0; index < directory.entries; ++index) {
        BJ_TRY(Central central, read_central(rest));
        BJ_TRY_VOID(check_local(file, directory.offset, central));
        if (!names.insert(central.entry.path).second) {
            return refuse("two entries have the same name");
        }
        if (!central.directory) {
            reader.files_.push_back(central.entry);
        }
        entries.push_back(std::move(central.entry));
    }
    if (!rest.empty()) {
        return refuse("its list of entries is damaged");
    }
    BJ_TRY_VOID(check_overlap(std::move(entries)));
    BJ_TRY_VOID(check_total(reader.files_, size, bounds));
    return reader;
}

Result<void> ZipReader::read(const ZipEntry& entry, const ByteSink& sink) const {
    return entry.deflated ? inflate(entry, sink) : read_stored(entry, sink);
}

Result<void> ZipReader::read_stored(const ZipEntry& entry, const ByteSink& sink) const {
    Checked checked(entry, sink);
    for (std::uint64_t done = 0; done < entry.packed;) {
        const std::uint64_t length = std::min<std::uint64_t>(kPiece, entry.packed - done);
        BJ_TRY(const std::string piece,
               read_at(*file_, entry.data + done, static_cast<std::size_t>(length)));
        BJ_TRY_VOID(checked.take(piece));
        done += length;
    }
    return checked.finish();
}

Result<void> ZipReader::inflate(const ZipEntry& entry, const ByteSink& sink) const {
    Inflater inflater;
    if (!inflater.begun()) {
        return fail(ErrorCode::Internal, "zlib cannot begin");
    }
    Checked checked(entry, sink);
    std::vector<char> output(kPiece);
    z_stream& stream = inflater.stream;
    int state = Z_OK;
    for (std::uint64_t done = 0; done < entry.packed && state != Z_STREAM_END;) {
        const std::uint64_t length = std::min<std::uint64_t>(kPiece, entry.packed - done);
        BJ_TRY(std::string piece,
               read_at(*file_, entry.data + done, static_cast<std::size_t>(length)));
        stream.next_in = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_in = static_cast<uInt>(piece.size());
        do {
            stream.next_out = reinterpret_cast<Bytef*>(output.data());
            stream.avail_out = static_cast<uInt>(output.size());
            state = ::inflate(&stream, Z_NO_FLUSH);
            if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) {
                return refuse("an entry is damaged");
            }
            BJ_TRY_VOID(checked.take({output.data(), output.size() - stream.avail_out}));
        } while (stream.avail_out == 0 && state != Z_STREAM_END);
        done += length - stream.avail_in;
        if (stream.avail_in != 0) {
            break;
        }
    }
    if (state != Z_STREAM_END || stream.total_in != entry.packed) {
        return refuse("an entry is damaged");
    }
    return checked.finish();
}

}  // namespace belljar::storage
