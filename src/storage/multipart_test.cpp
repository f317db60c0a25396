#include "storage/multipart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace belljar::storage {
namespace {

struct Part {
    std::string field{};
    std::optional<std::string> file_name{};
    std::string content{};

    bool operator==(const Part&) const = default;
};

class Collector final : public PartSink {
   public:
    explicit Collector(std::string_view body) : body_(body) {}

    Result<void> on_part(const PartHead& head, std::uint64_t offset) override {
        parts.push_back({.field = head.field, .file_name = head.file_name});
        offset_ = offset;
        return {};
    }
    Result<void> on_end(std::uint64_t length) override {
        parts.back().content = std::string(body_.substr(offset_, length));
        return {};
    }

    std::vector<Part> parts{};

   private:
    std::string_view body_;
    std::uint64_t offset_ = 0;
};

Result<std::vector<Part>> parse(std::string_view body, std::size_t piece = 7) {
    Collector collector(body);
    MultipartParser parser("xyz", collector);
    for (std::size_t at = 0; at < body.size(); at += piece) {
        BJ_TRY_VOID(parser.feed(body.substr(at, piece)));
    }
    BJ_TRY_VOID(parser.finish());
    return collector.parts;
}

std::string part(std::string_view name, std::string_view content) {
    return fmt::format(
        "--xyz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"{}\"\r\n\r\n{}\r\n", name,
        content);
}

std::string with_header(std::string_view header) {
    return fmt::format("--xyz\r\n{}\r\n\r\nx\r\n--xyz--\r\n", header);
}

std::string refusal(std::string_view body) {
    const auto parsed = parse(body);
    return parsed ? "" : parsed.error().message;
}

TEST(MultipartParser, FindsPartsHoweverTheyCome) {
    const std::string body = part("a.txt", "one\r\n--xy\r\n") + part("d/b", "") +
                             part("c", std::string("\0\r\n--", 5)) + "--xyz--\r\n";
    const std::vector<Part> expected{{"f", "a.txt", "one\r\n--xy\r\n"},
                                     {"f", "d/b", ""},
                                     {"f", "c", std::string("\0\r\n--", 5)}};
    for (std::size_t piece = 1; piece <= body.size(); ++piece) {
        const auto parsed = parse(body, piece);
        ASSERT_TRUE(parsed) << parsed.error().message;
        EXPECT_EQ(*parsed, expected) << piece;
    }
}

TEST(MultipartParser, ReadsNamesAsClientsWriteThem) {
    const auto name = [](std::string_view disposition) {
        const auto parsed =
            parse(with_header(fmt::format("content-disposition:form-data;name=f;{}", disposition)));
        return parsed ? parsed->front().file_name.value_or("(none)") : parsed.error().message;
    };
    EXPECT_EQ(name("filename=plain"), "plain");
    EXPECT_EQ(name(R"(filename="a \"b\" \\ c\d")"), R"(a "b" \ c\d)");
    EXPECT_EQ(name("filename=\"a%22b%41\""), "a\"b%41");
    EXPECT_EQ(name("filename=\"größe 😀.txt\""), "größe 😀.txt");
    EXPECT_EQ(name("filename=x; filename*=UTF-8''gr%C3%B6%C3%9Fe"), "größe");
    EXPECT_EQ(name("other=x"), "(none)");
    EXPECT_NE(name("filename*=latin1''a"), "a");
    EXPECT_NE(name("filename*=UTF-8''%"), "%");
}

TEST(MultipartParser, RefusesGarbage) {
    EXPECT_NE(refusal(""), "");
    EXPECT_NE(refusal("hello"), "");
    EXPECT_NE(refusal("preamble\r\n" + part("a", "x") + "--xyz--"), "");
    EXPECT_NE(refusal(part("a", "x")), "");               // no end
    EXPECT_NE(refusal(part("a", "x") + "--xyz"), "");     // half an end
    EXPECT_NE(refusal(part("a", "x") + "--xyzz--"), "");  // another boundary
    EXPECT_NE(refusal(part("a", "x") + "--xyz--\r\nmore"), "");
    EXPECT_NE(refusal("--xyz\r\n\r\nx\r\n--xyz--"), "");  // no header
    EXPECT_NE(refusal(with_header("Content-Type: text/plain")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: attachment; filename=a")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; filename=a")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=\"a")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=a name=b")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=a; name=b")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=a; =b")), "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=a\r\n"
                                  "Content-Disposition: form-data; name=a")),
              "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=a\r\n"
                                  "Content-Type: multipart/mixed; boundary=b")),
              "");
    EXPECT_NE(refusal(with_header("Content-Disposition: form-data; name=a\r\n"
                                  "Content-Transfer-Encoding: base64")),
              "");
    EXPECT_NE(refusal(with_header("Content-Disposition form-data")), "");
    EXPECT_NE(refusal(with_header(" Content-Disposition: form-data; name=a")), "");
}

TEST(MultipartParser, BoundsHeadersAndParts) {
    EXPECT_EQ(parse("--xyz\r\n" + std::string(9000, 'a')).error().code, ErrorCode::TooLarge);
    std::string lines;
    for (int index = 0; index < 17; ++index) {
        lines += "X-A: b\r\n";
    }
    EXPECT_NE(refusal(with_header(lines + "Content-Disposition: form-data; name=a")), "");
    std::string many;
    for (std::size_t index = 0; index < MultipartParser::kMostParts; ++index) {
        many += part("a", "");
    }
    EXPECT_TRUE(parse(many + "--xyz--"));
    EXPECT_EQ(parse(many + part("a", "") + "--xyz--").error().code, ErrorCode::TooLarge);
}

TEST(MultipartBoundary, IsReadFromTheContentType) {
    EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc").value(), "abc");
    EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=x; BOUNDARY=\"a b\"").value(),
              "a b");
    for (const char* bad :
         {"", "multipart/form-data", "multipart/mixed; boundary=a",
          "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a\"\"b\"",
          "multipart/form-data; boundary=\"a \"", "multipart/form-data; boundary=a; boundary=b",
          "multipart/form-data; boundary=\"\x01\"", "application/json; boundary=a",
          "multipart/form-data boundary=a"}) {
        EXPECT_FALSE(multipart_boundary(bad)) << bad;
    }
    EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'a')));
}

}  // namespace
}  // namespace belljar::storage
