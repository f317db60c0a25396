#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar::storage {

// The boundary of a body of this Content-Type. InvalidArgument if it is not multipart/form-data, or
// has none.
[[nodiscard]] Result<std::string> multipart_boundary(std::string_view content_type);

// What the header of a part says.
struct PartHead {
    std::string field{};
    std::optional<std::string> file_name{};  // nothing: it is no file. Any bytes may be in it
};

class PartSink {
   public:
    PartSink() = default;
    PartSink(const PartSink&) = delete;
    PartSink& operator=(const PartSink&) = delete;
    virtual ~PartSink() = default;

    // `offset` is where the part's bytes begin in the body.
    virtual Result<void> on_part(const PartHead& head, std::uint64_t offset) = 0;
    // How many bytes it had.
    virtual Result<void> on_end(std::uint64_t length) = 0;
};

// Finds the parts of a multipart/form-data body (RFC 7578) as it comes in pieces. Strict: nothing
// before the first boundary and after the last, no parts in parts, no transfer encodings; bounded
// in the number of parts and in the size of their headers. InvalidArgument says what is wrong,
// TooLarge what is too much. The sink is borrowed.
class MultipartParser {
   public:
    static constexpr std::size_t kMostHeader = 8 * 1024;
    static constexpr std::size_t kMostParts = 1000;

    MultipartParser(std::string_view boundary, PartSink& sink)
        : delimiter_("\r\n--" + std::string(boundary)), sink_(sink) {}

    Result<void> feed(std::string_view data);
    // The body has ended.
    [[nodiscard]] Result<void> finish() const;

   private:
    enum class Place { Start, AfterBoundary, Header, Content, Ended };

    // Whether more can be read from what has come.
    Result<bool> step();
    Result<bool> read_start();
    Result<bool> read_after_boundary();
    Result<bool> read_header();
    Result<bool> read_content();
    void drop(std::size_t count);

    std::string delimiter_;
    PartSink& sink_;
    Place place_ = Place::Start;
    std::string waiting_;        // come, but not understood yet
    std::uint64_t offset_ = 0;   // of the first byte that waits
    std::uint64_t content_ = 0;  // where the bytes of this part begin
    std::size_t parts_ = 0;
};

}  // namespace belljar::storage
