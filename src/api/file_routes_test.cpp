#include "api/file_routes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <map>
#include <set>

#include "access/cross_origin.h"
#include "api/bulk_routes.h"
#include "api/routes.h"
#include "api/signed_file_route.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::Digest;
using execution::FileCondition;
using execution::FileName;
using execution::FileView;

// Files in memory, all of one conversation of "ann"; a revision is the number of the write.
class FakeFiles final : public engine::Conversations {
   public:
    struct Kept {
        std::string content{};
        int revision = 0;
    };

    Task<Result<execution::ConversationView>> find_conversation(
        std::string principal, std::string conversation_id) override {
        if (principal != "ann" || conversation_id != "c 1") {
            co_return nothing();
        }
        co_return execution::ConversationView{.conversation_id = conversation_id};
    }
    Task<Result<FileView>> find_file(FileName name, Digest digest) override {
        if (!is_known(name)) {
            co_return nothing();
        }
        co_return view_of(name.path, digest);
    }
    Task<Result<engine::OpenFile>> open_file(FileName name, Digest digest) override {
        if (!is_known(name)) {
            co_return nothing();
        }
        co_return engine::OpenFile{.file = make_sealed_file("f", kept[name.path].content).value(),
                                   .view = view_of(name.path, digest)};
    }
    Task<Result<execution::FilePage>> page_files(execution::FileQuery query) override {
        execution::FilePage page;
        for (const auto& [path, unused] : kept) {
            if (path > query.page.after &&
                (query.where.path.empty() || path.starts_with(query.where.path + "/"))) {
                if (page.files.size() == query.page.limit) {
                    page.next = page.files.back().path;
                    break;
                }
                page.files.push_back(view_of(path, Digest::Omitted));
            }
        }
        co_return page;
    }
    Task<Result<engine::PutFile>> put_file(engine::FilePut put) override {
        conditions.push_back(put.condition);
        const bool there = is_known(put.name);
        if (put.condition.kind == FileCondition::Kind::Absent && there) {
            co_return fail(ErrorCode::Precondition, "it is there");
        }
        Kept& file = kept[put.name.path];
        file.revision = ++writes;
        file.content = std::holds_alternative<Fd>(put.content)
                           ? read_all(std::get<Fd>(put.content), kibibytes(1)).value()
                           : std::get<std::string>(put.content);
        co_return engine::PutFile{.file = view_of(put.name.path, Digest::Omitted),
                                  .kind = there ? execution::FileChange::Kind::Changed
                                                : execution::FileChange::Kind::Created};
    }
    Task<Result<FileView>> move_file(execution::FileMove move) override {
        if (!is_known(move.from)) {
            co_return nothing();
        }
        kept[move.to] = kept[move.from.path];
        kept.erase(move.from.path);
        co_return view_of(move.to, Digest::Omitted);
    }
    Task<Result<std::uint64_t>> delete_tree(FileName name, FileCondition condition) override {
        conditions.push_back(std::move(condition));
        co_return std::erase_if(kept, [&name](const auto& file) {
            return file.first == name.path || file.first.starts_with(name.path + "/");
        });
    }
    Task<Result<storage::StagedFile>> stage_file(FileName /*name*/) override {
        co_return storage::StagedFile(Fd(), "", Fd(::memfd_create("staged", MFD_CLOEXEC)));
    }
    Task<Result<std::vector<engine::PutFile>>> import_files(engine::FileImport import) override {
        std::vector<engine::PutFile> put;
        for (const storage::IncomingFile& file : import.files) {
            const std::string path =
                import.where.path.empty() ? file.path : import.where.path + "/" + file.path;
            std::string content;
            BJ_CO_TRY_VOID(file.content([&content](std::string_view data) {
                content += data;
                return Result<void>{};
            }));
            kept[path] = {.content = content, .revision = ++writes};
            put.push_back({.file = view_of(path, Digest::Omitted)});
        }
        co_return put;
    }

    std::map<std::string, Kept> kept{};
    std::vector<FileCondition> conditions{};
    int writes = 0;

   private:
    static std::unexpected<Error> nothing() {
        return fail(ErrorCode::NotFound, "there is no such file in this conversation");
    }
    [[nodiscard]] bool is_known(const FileName& name) const {
        return name.principal == "ann" && name.conversation_id == "c 1" && kept.contains(name.path);
    }
    [[nodiscard]] FileView view_of(const std::string& path, Digest digest) const {
        const Kept& file = kept.at(path);
        return {.path = path,
                .size = file.content.size(),
                .mime = path.ends_with(".html") ? "text/html" : "text/plain",
                .sha256 = digest == Digest::Computed ? "abc" : "",
                .revision = "r" + std::to_string(file.revision)};
    }
};

class FakeState final : public engine::State {
   public:
    Task<Result<void>> use_once(std::string mark, execution::WallTime /*expires*/) override {
        if (!used.insert(std::move(mark)).second) {
            co_return fail(ErrorCode::Conflict, "used");
        }
        co_return Result<void>{};
    }
    std::set<std::string> used{};
};

class FakeExecutor final : public engine::Executor {
   public:
    using Executor::execute;
    Task<Result<execution::RunResult>> execute(execution::RunRequest /*request*/,
                                               engine::CancellationPtr /*cancellation*/,
                                               engine::RunWatch /*watch*/) override {
        co_return fail(ErrorCode::Unsupported, "no runs");
    }
    [[nodiscard]] engine::Conversations& conversations() override { return files; }
    [[nodiscard]] engine::State& state() override { return used; }
    [[nodiscard]] engine::SandboxInfo info() const override { return {}; }
    [[nodiscard]] engine::RunFigures figures() const override { return {}; }

    FakeFiles files{};
    FakeState used{};
};

class FileRoutesTest : public ::testing::Test {
   protected:
    FileRoutesTest() {
        signer_.set_base("http://x");
        routes_.add(
            std::make_unique<FileRoutes>(executor_, FileRoutes::Options{.signer = &signer_}));
        routes_.add(std::make_unique<BulkRoutes>(executor_, BulkRoutes::Options{}));
        routes_.add(std::make_unique<SignedFileRoute>(executor_, signer_));
    }

    HttpResponse send(HttpRequest request) {
        auto future = boost::asio::co_spawn(
            io_, routes_.handle(std::move(request), std::make_shared<engine::Cancellation>()),
            boost::asio::use_future);
        io_.restart();
        io_.run();
        return future.get();
    }

    HttpResponse ask(std::string method, const std::string& tail, std::string body = {},
                     std::initializer_list<std::pair<const char*, std::string>> headers = {}) {
        HttpRequest request{.principal = "ann", .method = std::move(method)};
        const std::string whole = "/v1/conversations/c%201" + tail;
        const std::size_t mark = std::min(whole.find('?'), whole.size());
        request.path = whole.substr(0, mark);
        request.query = whole.substr(std::min(mark + 1, whole.size()));
        request.body = std::move(body);
        for (const auto& [name, value] : headers) {
            request.headers.emplace(name, value);
        }
        return send(std::move(request));
    }

    static std::string header(const HttpResponse& response, std::string_view name) {
        for (const auto& [key, value] : response.headers) {
            if (key == name) {
                return value;
            }
        }
        return "";
    }

    static std::string content_of(const HttpResponse& response) {
        std::string content(response.file->length, '\0');
        const ssize_t count = ::pread(response.file->file.get(), content.data(), content.size(),
                                      static_cast<off_t>(response.file->offset));
        return count == static_cast<ssize_t>(content.size()) ? content : "(short)";
    }

    boost::asio::io_context io_;
    FakeExecutor executor_;
    storage::UrlSigner signer_{{.secret = "secret"}};
    Routes routes_{executor_, [] { return true; }};
};

TEST_F(FileRoutesTest, WritesAndReads) {
    const HttpResponse made = ask("PUT", "/files/d/a.txt", "hello");
    EXPECT_EQ(made.status, 201U);
    EXPECT_EQ(header(made, "ETag"), "\"r1\"");
    EXPECT_EQ(header(made, "Location"), "/v1/conversations/c%201/files/d/a.txt");
    EXPECT_EQ(ask("PUT", "/files/d/a.txt", "hello").status, 204U);
    const HttpResponse read = ask("GET", "/files/d/a.txt");
    EXPECT_EQ(read.status, 200U);
    EXPECT_EQ(content_of(read), "hello");
    EXPECT_EQ(header(read, "ETag"), "\"r2\"");
    EXPECT_EQ(header(read, "Content-Disposition"), "inline; filename=\"a.txt\"");
    const HttpResponse part = ask("GET", "/files/d/a.txt", "", {{"Range", "bytes=1-2"}});
    EXPECT_EQ(part.status, 206U);
    EXPECT_EQ(content_of(part), "el");
    EXPECT_EQ(ask("GET", "/files/d/a.txt", "", {{"Range", "bytes=9-"}}).status, 416U);
    const HttpResponse same = ask("GET", "/files/d/a.txt", "", {{"If-None-Match", "\"r2\""}});
    EXPECT_EQ(same.status, 304U);
    EXPECT_FALSE(same.file);
    EXPECT_EQ(ask("GET", "/files/other").status, 404U);
    EXPECT_NE(ask("GET", "/files/d/a.txt?stat=true").body.find("\"sha256\":\"abc\""),
              std::string::npos);
}

TEST_F(FileRoutesTest, ShowsNothingThatRuns) {
    ask("PUT", "/files/page.html", "<script>");
    const HttpResponse page = ask("GET", "/files/page.html");
    EXPECT_TRUE(header(page, "Content-Disposition").starts_with("attachment"));
    EXPECT_TRUE(header(page, "Content-Security-Policy").starts_with("sandbox"));
}

TEST_F(FileRoutesTest, PassesConditionsOn) {
    ask("PUT", "/files/a", "1");
    EXPECT_EQ(ask("PUT", "/files/a", "2", {{"If-None-Match", "*"}}).status, 412U);
    ask("PUT", "/files/a", "2", {{"If-Match", "\"r1\""}});
    EXPECT_EQ(executor_.files.conditions.back(),
              (FileCondition{.kind = FileCondition::Kind::Matches, .tag = "r1"}));
    EXPECT_EQ(ask("PUT", "/files/a", "2", {{"If-Match", "\"x\", \"y\""}}).status, 412U);
    EXPECT_EQ(ask("PUT", "/files/a", "2", {{"If-Match", "x"}}).status, 400U);
    EXPECT_EQ(ask("PUT", "/files/a", "2", {{"Content-Range", "bytes 0-1/2"}}).status, 400U);
}

TEST_F(FileRoutesTest, RefusesPathsThatCannotBe) {
    for (const char* path : {"..", "a/../b", "%2e%2e", "a%2fb", "a%00", "a//b", "%zz", "a/"}) {
        for (const char* method : {"GET", "PUT", "DELETE", "PATCH"}) {
            EXPECT_EQ(ask(method, std::string("/files/") + path).status, 400U) << path;
        }
    }
    EXPECT_EQ(ask("POST", "/files/a").status, 405U);
}

TEST_F(FileRoutesTest, ListsMovesAndDeletes) {
    for (const char* path : {"a", "b", "d/x", "d/y"}) {
        ask("PUT", std::string("/files/") + path, "");
    }
    const json::object page = parse_json(ask("GET", "/files?limit=3").body).value().as_object();
    EXPECT_EQ(page.at("files").as_array().size(), 3U);
    EXPECT_EQ(page.at("next_cursor"), "d/x");
    EXPECT_EQ(ask("GET", "/files?recursive=perhaps").status, 400U);
    EXPECT_EQ(
        ask("PATCH", "/files/a", R"({"to":"c"})", {{"Content-Type", "application/json"}}).status,
        200U);
    EXPECT_EQ(
        ask("PATCH", "/files/c", R"({"to":"../c"})", {{"Content-Type", "application/json"}}).status,
        400U);
    EXPECT_EQ(ask("DELETE", "/files/d").status, 409U);
    EXPECT_EQ(ask("DELETE", "/files/d?recursive=true").status, 204U);
    EXPECT_EQ(ask("DELETE", "/files/c").status, 204U);
    EXPECT_EQ(ask("DELETE", "/files/c").status, 404U);
    EXPECT_EQ(executor_.files.kept.size(), 1U);
}

TEST_F(FileRoutesTest, TakesFormsAndArchives) {
    const std::string form =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\n\r\none\r\n"
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"d/y\"\r\n\r\n\r\n--b--";
    const HttpResponse taken =
        ask("POST", "/files?path=in", form, {{"Content-Type", "multipart/form-data; boundary=b"}});
    EXPECT_EQ(taken.status, 201U) << taken.body;
    EXPECT_EQ(executor_.files.kept.at("in/x.txt").content, "one");
    EXPECT_EQ(ask("POST", "/files", form, {{"Content-Type", "text/plain"}}).status, 415U);
    EXPECT_EQ(
        ask("POST", "/files", "x", {{"Content-Type", "multipart/form-data; boundary=b"}}).status,
        400U);
    const HttpResponse archive = ask("GET", "/archive?path=in");
    ASSERT_EQ(archive.status, 200U) << archive.body;
    EXPECT_EQ(header(archive, "Content-Disposition"), "attachment; filename=\"in.zip\"");
    const HttpResponse imported = ask("POST", "/import?path=again", content_of(archive),
                                      {{"Content-Type", "application/zip"}});
    EXPECT_EQ(imported.status, 201U) << imported.body;
    EXPECT_EQ(executor_.files.kept.at("again/x.txt").content, "one");
    EXPECT_EQ(executor_.files.kept.at("again/d/y").content, "");
    EXPECT_EQ(ask("POST", "/import", "x", {{"Content-Type", "application/zip"}}).status, 400U);
}

TEST_F(FileRoutesTest, PagesOfOtherOriginsMayUseEveryMethod) {
    const HttpResponse allowed =
        access::answer_preflight({.method = "OPTIONS",
                                  .headers = {{"Origin", "http://localhost:3000"},
                                              {"Access-Control-Request-Method", "PATCH"}}})
            .value();
    const std::string methods = header(allowed, "Access-Control-Allow-Methods") + ",";
    for (const auto& operation : routes_.table().operations()) {
        EXPECT_TRUE(methods.contains(operation->method + ",")) << operation->id;
    }
}

TEST_F(FileRoutesTest, AnAddressNeedsNoToken) {
    ask("PUT", "/files/a.txt", "hello");
    const auto sign = [this](const std::string& body) {
        return ask("POST", "/files:sign", body, {{"Content-Type", "application/json"}});
    };
    const auto fetch = [this](const std::string& url, const char* method) {
        const std::string rest = url.substr(std::string("http://x").size());
        HttpRequest request{.principal = "bob", .method = method};
        request.rights = {};
        request.path = rest.substr(0, rest.find('?'));
        request.query = rest.substr(rest.find('?') + 1);
        EXPECT_TRUE(routes_.is_public(request));
        return send(std::move(request));
    };
    const auto url_in = [](const HttpResponse& response) {
        return std::string(parse_json(response.body).value().at("url").as_string());
    };
    const std::string url = url_in(sign(R"({"path":"a.txt"})"));
    EXPECT_EQ(content_of(fetch(url, "GET")), "hello");
    EXPECT_EQ(fetch(url + "0", "GET").status, 403U);
    const std::string once = url_in(sign(R"({"path":"a.txt","single_use":true})"));
    EXPECT_EQ(fetch(once, "HEAD").status, 200U);
    EXPECT_EQ(fetch(once, "GET").status, 200U);
    EXPECT_EQ(fetch(once, "GET").status, 403U);
    EXPECT_EQ(fetch(url_in(sign(R"({"path":"gone"})")), "GET").status, 404U);
    for (const char* bad : {"{}", R"({"path":"../x"})", R"({"path":"a","expires_in":0})",
                            R"({"path":"a","method":"PUT"})", R"({"path":"a","x":1})"}) {
        EXPECT_EQ(sign(bad).status, 400U) << bad;
    }
}

}  // namespace
}  // namespace belljar::api
