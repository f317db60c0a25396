#include "jar/launch_request.h"

#include <cstring>
#include <type_traits>

namespace belljar::jar {
namespace {

constexpr std::uint32_t kMark = 0x314c4a42;  // "BJL1"

template <typename Number>
void append(std::string& data, Number number) {
    static_assert(std::is_integral_v<Number>);
    data.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append(std::string& data, const std::string& text) {
    append(data, static_cast<std::uint64_t>(text.size()));
    data += text;
}

void append(std::string& data, const std::vector<std::string>& texts) {
    append(data, static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) {
        append(data, text);
    }
}

Error malformed() { return {.code = ErrorCode::InvalidArgument, .message = "a malformed request"}; }

class Reader {
   public:
    explicit Reader(std::string_view data) : rest_(data) {}

    template <typename Number>
    Result<Number> number() {
        Number value{};
        if (rest_.size() < sizeof(value)) {
            return fail(malformed());
        }
        std::memcpy(&value, rest_.data(), sizeof(value));
        rest_.remove_prefix(sizeof(value));
        return value;
    }

    Result<std::string> text() {
        BJ_TRY(const std::uint64_t size, number<std::uint64_t>());
        if (size > rest_.size()) {
            return fail(malformed());
        }
        std::string value(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return value;
    }

    // Each entry takes room in the data, so what is left of it bounds the count.
    Result<std::uint64_t> count() {
        BJ_TRY(const std::uint64_t value, number<std::uint64_t>());
        if (value > rest_.size() / sizeof(std::uint64_t)) {
            return fail(malformed());
        }
        return value;
    }

    // Texts that a program gets as C strings.
    Result<std::vector<std::string>> texts() {
        std::vector<std::string> values;
        BJ_TRY(const std::uint64_t size, count());
        for (std::uint64_t index = 0; index < size; ++index) {
            BJ_TRY(std::string value, text());
            if (value.find('\0') != std::string::npos) {
                return fail(malformed());
            }
            values.push_back(std::move(value));
        }
        return values;
    }

    [[nodiscard]] bool at_end() const { return rest_.empty(); }

   private:
    std::string_view rest_;
};

}  // namespace

std::string encode(const LaunchRequest& request) {
    std::string data;
    append(data, kMark);
    append(data, request.compile);
    append(data, static_cast<std::int64_t>(request.compile_time.count()));
    append(data, request.compile_memory.count);
    append(data, request.run);
    append(data, request.arguments);
    append(data, request.environment);
    append(data, static_cast<std::uint64_t>(request.files.size()));
    for (const LaunchRequest::File& file : request.files) {
        append(data, file.path);
        append(data, file.content);
    }
    return data;
}

Result<LaunchRequest> decode_launch_request(std::string_view data) {
    Reader reader(data);
    LaunchRequest request;
    BJ_TRY(const std::uint32_t mark, reader.number<std::uint32_t>());
    BJ_TRY(request.compile, reader.texts());
    BJ_TRY(const std::int64_t compile_time, reader.number<std::int64_t>());
    BJ_TRY(request.compile_memory.count, reader.number<std::uint64_t>());
    BJ_TRY(request.run, reader.texts());
    BJ_TRY(request.arguments, reader.texts());
    BJ_TRY(request.environment, reader.texts());
    BJ_TRY(const std::uint64_t files, reader.count());
    for (std::uint64_t index = 0; index < files; ++index) {
        LaunchRequest::File file;
        BJ_TRY(file.path, reader.text());
        BJ_TRY(file.content, reader.text());
        request.files.push_back(std::move(file));
    }
    if (mark != kMark || request.run.empty() || compile_time < 0 || !reader.at_end()) {
        return fail(malformed());
    }
    request.compile_time = Duration(compile_time);
    return request;
}

}  // namespace belljar::jar
