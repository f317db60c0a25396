#include "audit/trail.h"

#include <sys/resource.h>

#include <csignal>

#include "audit/search.h"
#include "audit/trail_test_place.h"

namespace belljar::audit {
namespace {

// As on a full disk: no file of this process can grow beyond where it is.
class FullDisk {
   public:
    explicit FullDisk(std::uint64_t size) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_IGN);
        rlimit now = before_;
        now.rlim_cur = size;
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_DFL);
    }

   private:
    rlimit before_{};
};

class AuditTrailTest : public TrailTest {
   protected:
    [[nodiscard]] std::unique_ptr<Trail> start(config::AuditSettings settings = {}) const {
        auto trail = Trail::prepare((place / "trail").string(),
                                    {.settings = std::move(settings), .program = "test"},
                                    Log("test", LogLevel::Error))
                         .value();
        EXPECT_TRUE(trail->start());
        return trail;
    }
    [[nodiscard]] VerificationReport verified() const {
        return verify_trail(open_directory(place / "trail")).value();
    }
};

TEST_F(AuditTrailTest, BeginsAndEndsWithARecord) {
    {
        const auto trail = start();
        ASSERT_TRUE(trail->record(entry("ada")));
        EXPECT_EQ(trail->figures().records, 2U);
        EXPECT_EQ(trail->figures().last_seq, 3U);
    }
    const VerificationReport report = verified();
    EXPECT_TRUE(report.intact());
    EXPECT_EQ(report.last_seq, 5U);  // file, start, run, stop, signature
    EXPECT_EQ(report.signed_seq, 5U);
    EXPECT_TRUE(report.notes.empty());
}

TEST_F(AuditTrailTest, AFullDiskStopsWhatComesNext) {
    const auto trail = start();
    ASSERT_TRUE(trail->record(entry("ada")));
    {
        const FullDisk full(600);
        const Result<void> recorded = trail->record(entry("ben"));
        ASSERT_FALSE(recorded);
        EXPECT_EQ(recorded.error().code, ErrorCode::Unavailable);
        EXPECT_NE(recorded.error().message.find("audit trail"), std::string::npos);
        EXPECT_FALSE(trail->admit());
        EXPECT_FALSE(trail->figures().writable);
        EXPECT_EQ(trail->figures().failures, 1U);
    }
    EXPECT_TRUE(trail->admit());
    EXPECT_TRUE(trail->figures().writable);
    ASSERT_TRUE(trail->record(entry("cem")));
    std::size_t gaps = 0;
    ASSERT_TRUE(search_trail(
        trail->directory(), {.kind = "gap"}, [&](const LineParts& parts, std::string_view) {
            ++gaps;
            EXPECT_NE(parts.body.find("\"unrecorded\":1"), std::string_view::npos);
            return Result<bool>(true);
        }));
    EXPECT_EQ(gaps, 1U);
    EXPECT_TRUE(verified().intact());
}

TEST_F(AuditTrailTest, AFullDiskMayAlsoOnlyBeCounted) {
    const auto trail = start({.on_failure = config::AuditFailure::Count});
    const FullDisk full(600);
    EXPECT_TRUE(trail->admit());
    EXPECT_TRUE(trail->record(entry("ada")));
    EXPECT_TRUE(trail->record(entry("ben")));
    EXPECT_EQ(trail->figures().failures, 2U);
    EXPECT_TRUE(trail->admit());
}

TEST_F(AuditTrailTest, VerifiesItselfInTheBackground) {
    const auto trail = start();
    EXPECT_FALSE(trail->last_verification().report);
    trail->verify();
    while (trail->last_verification().running) {
        std::this_thread::yield();
    }
    const Trail::Verification done = trail->last_verification();
    ASSERT_TRUE(done.report && *done.report);
    EXPECT_TRUE((*done.report)->intact());
    EXPECT_TRUE(done.ended);
}

TEST_F(AuditTrailTest, ErasesWhileItWrites) {
    const auto trail = start();
    ASSERT_TRUE(trail->record(entry("ada")));
    std::atomic<bool> done{false};
    std::thread writer([&] {
        while (!done) {
            ASSERT_TRUE(trail->record(entry("ben")));
        }
    });
    EXPECT_EQ(trail->erase({.filter = {.principal = "ada"}})->records, 1U);
    done = true;
    writer.join();
    EXPECT_TRUE(verified().intact());
    EXPECT_EQ(verified().erased, 1U);
}

// What one record costs on the way of a run; the figure is for people, the bound only for blunders.
TEST_F(AuditTrailTest, ARecordCostsLittle) {
    const auto trail = start();
    constexpr int kCount = 2000;
    const TimePoint began = Clock::now();
    for (int count = 0; count < kCount; ++count) {
        ASSERT_TRUE(trail->record(entry("ada", std::string(1000, 'x'))));
    }
    const auto each = (Clock::now() - began) / kCount;
    RecordProperty("nanoseconds", std::to_string(each.count()));
    EXPECT_LT(each, std::chrono::milliseconds(2));
}

}  // namespace
}  // namespace belljar::audit
