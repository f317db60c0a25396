#include "audit/search.h"

#include "audit/entries.h"
#include "audit/trail_test_place.h"
#include "base/utc_time.h"

namespace belljar::audit {
namespace {

class SearchTest : public TrailTest {
   protected:
    [[nodiscard]] std::vector<std::uint64_t> found(const Filter& filter) const {
        std::vector<std::uint64_t> seqs;
        EXPECT_TRUE(search_trail(directory, filter, [&](const LineParts& parts, std::string_view) {
            seqs.push_back(parts.seq);
            return Result<bool>(true);
        }));
        return seqs;
    }
};

TEST_F(SearchTest, FindsByEveryFilter) {
    const auto writer = open_writer();
    writer->append(entry("ada")).value();
    writer
        ->append({.kind = "refusal",
                  .body = {{"tool", "execute_code"}, {"status", "refused"}},
                  .personal = {{"principal", "b\"en"}, {"conversation_id", "c1"}}})
        .value();
    writer->append(entry("")).value();
    using Seqs = std::vector<std::uint64_t>;
    EXPECT_EQ(found({}), (Seqs{1, 2, 3, 4}));
    EXPECT_EQ(found({.principal = "ada"}), Seqs{2});
    EXPECT_EQ(found({.principal = "b\"en"}), Seqs{3});
    EXPECT_EQ(found({.principal = ""}), Seqs{4});
    EXPECT_EQ(found({.principal = "ad"}), Seqs{});
    EXPECT_EQ(found({.execution_id = "id of ada"}), Seqs{2});
    EXPECT_EQ(found({.conversation_id = "c1"}), Seqs{3});
    EXPECT_EQ(found({.tool = "execute_code"}), Seqs{3});
    EXPECT_EQ(found({.status = "ok"}), (Seqs{2, 4}));
    EXPECT_EQ(found({.kind = "refusal"}), Seqs{3});
    EXPECT_EQ(found({.kind = "run", .since = parse_utc("2999-01-01")}), Seqs{});
    EXPECT_EQ(found({.kind = "run", .until = parse_utc("2999-01-01")}), (Seqs{2, 4}));
    // A value in another place is not meant.
    EXPECT_EQ(found({.principal = "some text"}), Seqs{});
}

TEST_F(SearchTest, LeavesOutWhatIsNotComplete) {
    open_writer()->append(entry("ada")).value();
    write(trail_name(1), read(trail_name(1)) + "{\"seq\":3");
    EXPECT_EQ(found({}).size(), 2U);
    EXPECT_EQ(page_of_trail(directory, {})->lines.size(), 2U);
}

TEST_F(SearchTest, PagesGoBackOverFiles) {
    const auto writer = open_writer({.rotate_size = kibibytes(4)});
    for (int index = 0; index < 50; ++index) {
        writer->append(entry(index % 2 == 0 ? "ada" : "ben", std::string(300, 'x'))).value();
    }
    ASSERT_GT(list_trail(directory)->size(), 3U);
    std::vector<std::uint64_t> seqs;
    PageWish wish{.filter = {.principal = "ada"}, .limit = 4};
    do {
        const Page page = page_of_trail(directory, wish).value();
        EXPECT_LE(page.lines.size(), 4U);
        for (const std::string& line : page.lines) {
            seqs.push_back(split_line(line)->seq);
        }
        wish.before = page.next;
    } while (wish.before != 0);
    EXPECT_EQ(seqs.size(), 25U);
    EXPECT_TRUE(std::ranges::is_sorted(seqs, std::ranges::greater()));
    std::vector<std::uint64_t> forward = found({.principal = "ada"});
    std::ranges::reverse(forward);
    EXPECT_EQ(seqs, forward);
}

TEST_F(SearchTest, APageReadsNoMoreThanItMay) {
    const auto writer = open_writer();
    for (int index = 0; index < 50; ++index) {
        writer->append(entry("ada", std::string(300, 'x'))).value();
    }
    const Page page =
        page_of_trail(directory, {.filter = {.principal = "nobody"}, .read = kibibytes(4)}).value();
    EXPECT_TRUE(page.lines.empty());
    EXPECT_GT(page.next, 30U);
}

TEST_F(SearchTest, WritesCsv) {
    const std::string line =
        open_writer()
            ->append({.kind = "run",
                      .body = {{"status", "ok"}, {"exit_code", 0}, {"tool", "=1+1"}},
                      .personal = {{"principal", "a \"b\", c"}}})
            .value()
            .line;
    const std::string csv = to_csv(std::string_view(line).substr(0, line.size() - 1));
    EXPECT_TRUE(csv.starts_with("2,20")) << csv;
    EXPECT_NE(csv.find(",run,\"a \"\"b\"\", c\","), std::string::npos) << csv;
    EXPECT_NE(csv.find(",'=1+1,"), std::string::npos) << csv;
    EXPECT_TRUE(csv.ends_with("\r\n"));
    const std::string header = csv_header();
    EXPECT_EQ(std::ranges::count(header, ','), 29);
}

}  // namespace
}  // namespace belljar::audit
