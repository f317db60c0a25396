#include "transport/http_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <stdexcept>

#include "access/gate.h"

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;
using access::HttpRequest;
using access::HttpResponse;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::seconds;

enum class Expect { Body, HeaderOnly };

// What a client received; status 0 if the connection ended instead.
struct Answer {
    unsigned status = 0;
    std::string body;
    http::fields headers;
    bool keeps_alive = false;
};

class Client {
   public:
    explicit Client(asio::io_context& context) : socket_(context) {}

    Task<void> connect(tcp::endpoint server) {
        co_await socket_.async_connect(server, asio::use_awaitable);
    }

    // True if everything could be written.
    Task<bool> send(std::string text) {
        error_code error;
        co_await asio::async_write(socket_, asio::buffer(text),
                                   asio::redirect_error(asio::use_awaitable, error));
        co_return !error;
    }

    Task<Answer> receive(Expect expect) {
        http::response_parser<http::string_body> parser;
        parser.body_limit(boost::none);
        parser.skip(expect == Expect::HeaderOnly);
        error_code error;
        co_await http::async_read(socket_, buffer_, parser,
                                  asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            co_return Answer{};
        }
        const bool keeps_alive = parser.get().keep_alive();
        auto message = parser.release();
        co_return Answer{.status = message.result_int(),
                         .body = message.body(),
                         .headers = message.base(),
                         .keeps_alive = keeps_alive};
    }

    // Empty at the end.
    Task<std::string> read_some() {
        std::array<char, 64 * 1024> bytes{};
        error_code error;
        const std::size_t count = co_await socket_.async_read_some(
            asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
        co_return std::string(bytes.data(), error ? 0 : count);
    }

    void close() { socket_.close(); }

   private:
    tcp::socket socket_;
    boost::beast::flat_buffer buffer_;
};

class HttpServerTest : public testing::Test {
   protected:
    void TearDown() override { stop(); }

    void start(HttpServer::Handler handler, HttpServer::Options options = {}) {
        Listener listener =
            Listener::open_tcp(context.get_executor(), {.host = "127.0.0.1", .port = 0}).value();
        endpoint = tcp::endpoint(asio::ip::make_address("127.0.0.1"), listener.port());
        server =
            std::make_unique<HttpServer>(context.get_executor(), std::move(handler), options, log);
        server->add(std::move(listener));
        accepting = asio::co_spawn(context, server->run(), asio::use_future);
    }

    // Answers at once with what it was asked; remembers it, too.
    void start_echo(HttpServer::Options options = {}) {
        start([this](HttpRequest request, engine::CancellationPtr) { return echo(request); },
              options);
    }

    // Answers only when the request is cancelled.
    void start_waiting() {
        start([this](HttpRequest, engine::CancellationPtr cancellation) {
            return wait_for_cancellation(std::move(cancellation));
        });
    }

    Task<HttpResponse> echo(HttpRequest request) {
        requests.push_back(request);
        co_return HttpResponse{.content_type = "text/plain", .body = request.body};
    }

    Task<HttpResponse> wait_for_cancellation(engine::CancellationPtr cancellation) {
        ++waiting;
        asio::steady_timer timer(context, asio::steady_timer::time_point::max());
        cancellation->on_request([&timer] { timer.cancel(); });
        error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        --waiting;
        cancelled += cancellation->requested() ? 1 : 0;
        co_return HttpResponse{.status = 499, .body = "{}"};
    }

    Task<HttpResponse> throw_once() {
        if (!std::exchange(has_thrown, true)) {
            throw std::runtime_error("broken");
        }
        co_return HttpResponse{};
    }

    // Sends pieces and then waits for its end.
    Task<HttpResponse> stream(HttpRequest request, engine::CancellationPtr cancellation) {
        request.stream->open({.content_type = "text/plain", .keep_alive = "."});
        stream_ = request.stream;
        HttpResponse ignored = co_await wait_for_cancellation(std::move(cancellation));
        co_return ignored;
    }

    void start_streaming(HttpServer::Options options = {}) {
        start(
            [this](HttpRequest request, engine::CancellationPtr cancellation) {
                cancellation_ = cancellation;
                return stream(std::move(request), std::move(cancellation));
            },
            options);
    }

    // Everything that comes until `end` is at its end.
    std::string read_to(Client& client, std::string_view end) {
        std::string text;
        while (!text.ends_with(end)) {
            const std::string more = run(client.read_some());
            if (more.empty()) {
                ADD_FAILURE() << "the connection ended after " << text;
                return text;
            }
            text += more;
        }
        return text;
    }

    template <typename T>
    T run(Task<T> task) {
        std::future<T> value = asio::co_spawn(context, std::move(task), asio::use_future);
        run_until([&] { return value.wait_for(seconds(0)) == std::future_status::ready; });
        return value.get();
    }

    template <typename Condition>
    void run_until(Condition condition) {
        const TimePoint give_up = Clock::now() + seconds(10);
        while (!condition()) {
            if (Clock::now() > give_up) {
                throw std::runtime_error("waited in vain");
            }
            context.restart();
            context.run_one_for(std::chrono::milliseconds(100));
        }
    }

    void stop() {
        if (!server) {
            return;
        }
        server->stop();
        const TimePoint deadline = Clock::now() + seconds(5);
        run(server->wait(deadline));
        run_until([&] { return accepting.wait_for(seconds(0)) == std::future_status::ready; });
        if (Clock::now() >= deadline) {
            ADD_FAILURE() << "a connection did not end";
            static_cast<void>(server.release());  // the connection still uses it
        }
        server.reset();
    }

    std::unique_ptr<Client> connect() {
        auto client = std::make_unique<Client>(context);
        run(client->connect(endpoint));
        return client;
    }

    Answer receive(Client& client, Expect expect = Expect::Body) {
        return run(client.receive(expect));
    }

    Answer exchange(Client& client, std::string text) {
        run(client.send(std::move(text)));
        return receive(client);
    }

    // One request on a connection of its own.
    Answer ask(std::string text) {
        const auto client = connect();
        return exchange(*client, std::move(text));
    }

    static std::string post(const std::string& body, const std::string& headers = "") {
        return "POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
    }

    asio::io_context context;
    Log log{"test", LogLevel::Error};
    tcp::endpoint endpoint;
    std::unique_ptr<HttpServer> server;
    std::future<void> accepting;
    std::vector<HttpRequest> requests;
    int waiting = 0;
    int cancelled = 0;
    bool has_thrown = false;
    access::ResponseStreamPtr stream_;
    engine::CancellationPtr cancellation_;
};

const std::string kGet = "GET /path?a=b&c HTTP/1.1\r\nHost: localhost\r\nX-Own: 1\r\n\r\n";

TEST_F(HttpServerTest, HandsTheRequestOver) {
    start_echo();
    EXPECT_EQ(ask(kGet).status, 200U);
    EXPECT_EQ(ask(post("the body")).body, "the body");
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].method, "GET");
    EXPECT_EQ(requests[0].path, "/path");
    EXPECT_EQ(requests[0].query, "a=b&c");
    EXPECT_EQ(requests[0].header("x-own"), "1");
    EXPECT_EQ(requests[1].method, "POST");
    EXPECT_EQ(requests[1].query, "");
}

TEST_F(HttpServerTest, MarksEveryAnswerAsNotForCaches) {
    start_echo();
    const Answer answer = ask(post("x"));
    EXPECT_EQ(answer.headers["Cache-Control"], "no-store");
    EXPECT_EQ(answer.headers["X-Content-Type-Options"], "nosniff");
    EXPECT_EQ(answer.headers["Content-Type"], "text/plain");
    EXPECT_EQ(answer.headers["Content-Length"], "1");
}

TEST_F(HttpServerTest, PassesTheStatusAndHeadersOfTheAnswerOn) {
    start([](HttpRequest, engine::CancellationPtr) -> Task<HttpResponse> {
        co_return HttpResponse{.status = 503, .headers = {{"Retry-After", "2"}}};
    });
    const Answer answer = ask(kGet);
    EXPECT_EQ(answer.status, 503U);
    EXPECT_EQ(answer.headers["Retry-After"], "2");
    EXPECT_EQ(answer.headers["Content-Length"], "0");
    EXPECT_EQ(answer.headers.count("Content-Type"), 0U);
}

// Answers with a part of a file of 300,000 bytes, which is more than one piece.
HttpServer::Handler send_file_part(std::uint64_t offset, std::uint64_t length) {
    return [offset, length](HttpRequest, engine::CancellationPtr) -> Task<HttpResponse> {
        std::string content;
        for (int number = 0; content.size() < 300'000; ++number) {
            content += std::to_string(number) + "\n";
        }
        content.resize(300'000);
        co_return HttpResponse{
            .content_type = "application/octet-stream",
            .file = access::FilePart{.file = make_sealed_file("file", content).value(),
                                     .offset = offset,
                                     .length = length}};
    };
}

TEST_F(HttpServerTest, SendsAPartOfAFile) {
    start(send_file_part(2, 250'000));
    const auto client = connect();
    for (int round = 0; round < 2; ++round) {
        const Answer answer = exchange(*client, kGet);
        EXPECT_EQ(answer.status, 200U);
        EXPECT_EQ(answer.headers["Content-Type"], "application/octet-stream");
        EXPECT_EQ(answer.headers["Content-Length"], "250000");
        EXPECT_EQ(answer.body.size(), 250'000U);
        EXPECT_TRUE(answer.body.starts_with("1\n2\n3\n"));
        EXPECT_TRUE(answer.keeps_alive);
    }
}

TEST_F(HttpServerTest, TheHeadOfAFileHasItsLengthAndNoBody) {
    start(send_file_part(0, 300'000));
    const auto client = connect();
    run(client->send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const Answer head = receive(*client, Expect::HeaderOnly);
    EXPECT_EQ(head.headers["Content-Length"], "300000");
    EXPECT_EQ(exchange(*client, kGet).body.size(), 300'000U);
}

TEST_F(HttpServerTest, AFileThatIsTooShortClosesTheConnection) {
    start(send_file_part(299'000, 2'000));
    EXPECT_EQ(ask(kGet).status, 0U);
}

TEST_F(HttpServerTest, StopEndsADownloadThatNobodyReads) {
    start([](HttpRequest, engine::CancellationPtr) -> Task<HttpResponse> {
        const std::string content(32 << 20U, 'x');
        co_return HttpResponse{
            .file = access::FilePart{.file = make_sealed_file("file", content).value(),
                                     .length = content.size()}};
    });
    const auto client = connect();
    run(client->send(kGet));
    for (int round = 0; round < 100; ++round) {
        context.restart();
        context.poll();
    }
    stop();
}

TEST_F(HttpServerTest, KeepsTheConnection) {
    start_echo();
    const auto client = connect();
    for (int round = 0; round < 3; ++round) {
        const Answer answer = exchange(*client, post(std::to_string(round)));
        EXPECT_EQ(answer.body, std::to_string(round));
        EXPECT_TRUE(answer.keeps_alive);
    }
}

TEST_F(HttpServerTest, ClosesTheConnectionWhenAskedTo) {
    start_echo();
    for (const std::string& text :
         {post("x", "Connection: close\r\n"), std::string("GET / HTTP/1.0\r\n\r\n")}) {
        const auto client = connect();
        const Answer answer = exchange(*client, text);
        EXPECT_EQ(answer.status, 200U);
        EXPECT_FALSE(answer.keeps_alive);
        EXPECT_EQ(receive(*client).status, 0U);
    }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
    start_echo();
    const auto client = connect();
    EXPECT_EQ(exchange(*client, post("one") + post("two") + post("three")).body, "one");
    EXPECT_EQ(receive(*client).body, "two");
    EXPECT_EQ(receive(*client).body, "three");
}

TEST_F(HttpServerTest, ReadsARequestThatComesInPieces) {
    start_echo();
    const auto client = connect();
    const std::string text = post("pieces");
    for (const char letter : text.substr(0, text.size() - 1)) {
        run(client->send(std::string(1, letter)));
    }
    EXPECT_TRUE(requests.empty());
    EXPECT_EQ(exchange(*client, text.substr(text.size() - 1)).body, "pieces");
}

TEST_F(HttpServerTest, ReadsAChunkedBody) {
    start_echo();
    const Answer answer =
        ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n");
    EXPECT_EQ(answer.body, "abcde");
}

Task<HttpResponse> answer_with(std::shared_ptr<const std::string> rest) {
    co_return HttpResponse{.body = "begin ", .rest = std::move(rest)};
}

TEST_F(HttpServerTest, SendsABodyWhoseEndIsShared) {
    const auto rest = std::make_shared<const std::string>(500'000, 'x');
    start([rest](HttpRequest, engine::CancellationPtr) { return answer_with(rest); });
    const auto client = connect();
    for (int turn = 0; turn < 2; ++turn) {
        const Answer answer = exchange(*client, kGet);
        EXPECT_EQ(answer.headers["Content-Length"], "500006");
        EXPECT_TRUE(answer.body == "begin " + *rest);
    }
    run(client->send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    const Answer head = receive(*client, Expect::HeaderOnly);
    EXPECT_EQ(head.headers["Content-Length"], "500006");
    EXPECT_EQ(exchange(*client, kGet).status, 200U);
}

TEST_F(HttpServerTest, HeadGetsTheLengthWithoutTheBody) {
    start([](HttpRequest, engine::CancellationPtr) -> Task<HttpResponse> {
        co_return HttpResponse{.body = "{\"a\":1}"};
    });
    const auto client = connect();
    run(client->send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
    const Answer answer = receive(*client, Expect::HeaderOnly);
    EXPECT_EQ(answer.status, 200U);
    EXPECT_EQ(answer.headers["Content-Length"], "7");
    EXPECT_EQ(exchange(*client, kGet).body, "{\"a\":1}") << "nothing of a body was left over";
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
    start_echo();
    for (const std::string& text :
         {std::string("nonsense\r\n\r\n"), std::string("GET\r\n\r\n"),
          std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nA : b\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", 27),
          std::string("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 11),
          std::string("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
          std::string("POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\nab"),
          std::string("GET /a b HTTP/1.1\r\n\r\n")}) {
        const auto client = connect();
        const Answer answer = exchange(*client, text);
        EXPECT_EQ(answer.status, 400U) << text;
        EXPECT_FALSE(answer.keeps_alive);
        EXPECT_EQ(receive(*client).status, 0U) << "nothing more comes on this connection";
    }
    EXPECT_TRUE(requests.empty());
}

// Two readers that disagree about where a request ends are how requests are smuggled.
TEST_F(HttpServerTest, RefusesTwoOpinionsOnTheLength) {
    start_echo();
    for (const std::string& headers : {"Content-Length: 3\r\nContent-Length: 4\r\n",
                                       "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                                       "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"}) {
        EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n0\r\n\r\n").status, 400U)
            << headers;
    }
    EXPECT_TRUE(requests.empty());
}

TEST_F(HttpServerTest, TakesABodyOfExactlyTheLimit) {
    start_echo({.body_limit = kibibytes(4)});
    EXPECT_EQ(ask(post(std::string(4096, 'x'))).status, 200U);
}

TEST_F(HttpServerTest, RefusesALargerBody) {
    start_echo({.body_limit = kibibytes(4)});
    const Answer answer = ask(post(std::string(4097, 'x')));
    EXPECT_EQ(answer.status, 413U);
    EXPECT_NE(answer.body.find("4096"), std::string::npos);
    EXPECT_FALSE(answer.keeps_alive);
    EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n").status,
              413U);
    EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFF\r\n" +
                  std::string(8192, 'x'))
                  .status,
              413U);
    EXPECT_TRUE(requests.empty());
}

// Neither is part of the body, whose size has a limit.
TEST_F(HttpServerTest, RefusesAnEndlessLineBetweenChunks) {
    start_echo();
    const std::string begin = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string mebibyte(1 << 20U, 'x');
    for (const std::string& text :
         {"3;" + mebibyte, "3\r\nabc\r\n3;a=" + mebibyte, "0\r\nA: " + mebibyte, "0;" + mebibyte}) {
        const auto client = connect();
        const Answer answer = exchange(*client, begin + text);
        EXPECT_EQ(answer.status, 400U) << text.substr(0, 16);
        EXPECT_FALSE(answer.keeps_alive);
        EXPECT_EQ(receive(*client).status, 0U);
    }
    EXPECT_TRUE(requests.empty());
    const std::string long_one(20'000, 'x');
    EXPECT_EQ(ask(begin + "3;" + long_one + "\r\nabc\r\n0\r\nA: " + long_one + "\r\n\r\n").body,
              "abc");
}

TEST_F(HttpServerTest, AnEmptyBodyIsTakenWhereNoneIs) {
    start_echo({.body_of = [](const HttpRequest&) { return access::BodyPlan{}; }});
    const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\n";
    const auto client = connect();
    EXPECT_EQ(exchange(*client, begin + "Content-Length: 0\r\n\r\n").status, 200U);
    EXPECT_EQ(exchange(*client, begin + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status,
              200U);
    EXPECT_EQ(exchange(*client, begin + "Content-Length: 1000000\r\n\r\n").status, 413U);
    EXPECT_EQ(ask(begin + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n").status, 413U);
    EXPECT_EQ(requests.size(), 2U);
}

TEST_F(HttpServerTest, AClientThatIsStillSendingHearsTheRefusal) {
    start_echo({.body_limit = kibibytes(4)});
    const auto client = connect();
    run(client->send(post(std::string(8 << 20U, 'x'))));
    EXPECT_EQ(receive(*client).status, 413U);
}

TEST_F(HttpServerTest, RefusesLargeHeaders) {
    start_echo();
    const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\n";
    EXPECT_EQ(ask(begin + "A: " + std::string(40'000, 'x') + "\r\n\r\n").status, 431U);
    std::string many = begin;
    for (int index = 0; index < 5000; ++index) {
        many += "Header-" + std::to_string(index) + ": x\r\n";
    }
    EXPECT_EQ(ask(many + "\r\n").status, 431U);
    EXPECT_EQ(ask("GET /" + std::string(40'000, 'x') + " HTTP/1.1\r\n\r\n").status, 431U);
    EXPECT_EQ(ask(begin + "A: " + std::string(20'000, 'x') + "\r\n\r\n").status, 200U);
}

TEST_F(HttpServerTest, SaysContinueToAClientThatAsks) {
    start_echo({.body_limit = kibibytes(4)});
    const auto client = connect();
    const std::string text = post("later", "Expect: 100-continue\r\n");
    const Answer go_on = exchange(*client, text.substr(0, text.size() - 5));
    EXPECT_EQ(go_on.status, 100U);
    EXPECT_EQ(exchange(*client, "later").body, "later");
}

TEST_F(HttpServerTest, DoesNotSayContinueToABodyThatIsTooLarge) {
    start_echo({.body_limit = kibibytes(4)});
    EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n"
                  "Expect: 100-continue\r\n\r\n")
                  .status,
              413U);
}

TEST_F(HttpServerTest, APrecheckRefusesBeforeTheBodyIsRead) {
    start_echo({.precheck = [](const HttpRequest& request) {
        const bool known = request.header("Authorization").has_value();
        return known ? std::nullopt : std::optional(access::make_refusal(401, "who are you?"));
    }});
    const std::string text = post("body", "Expect: 100-continue\r\n");
    const auto client = connect();
    const Answer refused = exchange(*client, text.substr(0, text.size() - 4));
    EXPECT_EQ(refused.status, 401U);
    EXPECT_FALSE(refused.keeps_alive);
    EXPECT_TRUE(requests.empty());
    EXPECT_EQ(ask(post("body", "Authorization: x\r\n")).body, "body");
}

TEST_F(HttpServerTest, AClientThatHangsUpCancelsItsRequest) {
    start_waiting();
    const auto client = connect();
    run(client->send(post("x")));
    run_until([&] { return waiting == 1; });
    EXPECT_EQ(cancelled, 0);
    client->close();
    run_until([&] { return waiting == 0; });
    EXPECT_EQ(cancelled, 1);
}

TEST_F(HttpServerTest, OneClientsHangUpIsNotAnothers) {
    start_waiting();
    const auto first = connect();
    const auto second = connect();
    run(first->send(post("x")));
    run(second->send(post("x")));
    run_until([&] { return waiting == 2; });
    first->close();
    run_until([&] { return waiting == 1; });
    EXPECT_EQ(cancelled, 1);
}

TEST_F(HttpServerTest, AHalfSentRequestIsNeverHandedOver) {
    start_echo();
    {
        const auto client = connect();
        const std::string text = post("0123456789");
        run(client->send(text.substr(0, text.size() - 3)));
    }
    EXPECT_EQ(ask(kGet).status, 200U);
    EXPECT_EQ(requests.size(), 1U);
}

TEST_F(HttpServerTest, FurtherClientsWaitUntilOneLeaves) {
    start_echo({.connections = 1});
    const auto first = connect();
    EXPECT_EQ(exchange(*first, kGet).status, 200U);
    const auto second = connect();
    run(second->send(kGet));
    EXPECT_EQ(exchange(*first, kGet).status, 200U);
    EXPECT_EQ(requests.size(), 2U);
    first->close();
    EXPECT_EQ(receive(*second).status, 200U);
}

TEST_F(HttpServerTest, StopClosesWhatIsIdle) {
    start_echo();
    const auto used = connect();
    EXPECT_EQ(exchange(*used, kGet).status, 200U);
    const auto fresh = connect();
    stop();
    EXPECT_EQ(receive(*used).status, 0U);
    EXPECT_EQ(receive(*fresh).status, 0U);
}

TEST_F(HttpServerTest, StopCancelsWhatRunsAndStillAnswersIt) {
    start_waiting();
    const auto client = connect();
    run(client->send(post("x")));
    run_until([&] { return waiting == 1; });
    stop();
    EXPECT_EQ(cancelled, 1);
    const Answer answer = receive(*client);
    EXPECT_EQ(answer.status, 499U);
    EXPECT_FALSE(answer.keeps_alive);
}

TEST_F(HttpServerTest, AHandlerThatThrowsCostsOnlyItsRequest) {
    start([this](HttpRequest, engine::CancellationPtr) { return throw_once(); });
    testing::internal::CaptureStderr();
    const unsigned first = ask(kGet).status;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("broken"), std::string::npos);
    EXPECT_EQ(first, 500U);
    EXPECT_EQ(ask(kGet).status, 200U);
}

TEST_F(HttpServerTest, ListenRefusesAnAddressInUse) {
    start_echo();
    const auto again =
        Listener::open_tcp(context.get_executor(), {.host = "127.0.0.1", .port = endpoint.port()});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::Conflict);
    EXPECT_NE(again.error().message.find("--listen"), std::string::npos);
}

TEST_F(HttpServerTest, ListenRefusesAnAddressOfAnotherHost) {
    EXPECT_FALSE(Listener::open_tcp(context.get_executor(), {.host = "203.0.113.1", .port = 0}));
    EXPECT_FALSE(Listener::open_tcp(context.get_executor(), {.host = "no such host", .port = 0}));
}

TEST_F(HttpServerTest, StreamsPiecesAsTheyCome) {
    start_streaming();
    const auto client = connect();
    run(client->send(post("")));
    const std::string head = read_to(*client, "\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
    EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
    EXPECT_NE(head.find("Content-Type: text/plain\r\n"), std::string::npos);
    for (const std::string& piece : {"one", "two"}) {
        EXPECT_TRUE(stream_->offer(piece));
        EXPECT_EQ(read_to(*client, piece + "\r\n"), "3\r\n" + piece + "\r\n");
    }
    stream_->put("last");
    cancellation_->request();
    EXPECT_EQ(read_to(*client, "0\r\n\r\n"), "4\r\nlast\r\n0\r\n\r\n");
    run(client->send(post("")));
    EXPECT_TRUE(read_to(*client, "\r\n\r\n").starts_with("HTTP/1.1 200 OK"))
        << "the connection is kept";
}

TEST_F(HttpServerTest, StreamWithoutPiecesIsEmpty) {
    start_streaming();
    const auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    cancellation_->request();
    EXPECT_EQ(read_to(*client, "0\r\n\r\n"), "0\r\n\r\n");
}

TEST_F(HttpServerTest, StreamToAnOldClientEndsWithTheConnection) {
    start_streaming();
    const auto client = connect();
    run(client->send("POST /p HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"));
    const std::string head = read_to(*client, "\r\n\r\n");
    EXPECT_EQ(head.find("chunked"), std::string::npos);
    EXPECT_NE(head.find("Connection: close\r\n"), std::string::npos);
    stream_->put("piece");
    EXPECT_EQ(read_to(*client, "piece"), "piece");
    cancellation_->request();
    EXPECT_EQ(run(client->read_some()), "");
}

TEST_F(HttpServerTest, SilentStreamIsKeptAlive) {
    start_streaming({.keep_alive = std::chrono::milliseconds(10)});
    const auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    EXPECT_EQ(read_to(*client, ".\r\n").substr(0, 6), "1\r\n.\r\n");
}

TEST_F(HttpServerTest, ClientThatLeavesAStreamCancels) {
    start_streaming();
    auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    client->close();
    run_until([&] { return cancelled == 1; });
}

TEST_F(HttpServerTest, ClientThatReadsNothingFillsItsQueueAndNoMore) {
    start_streaming();
    const auto client = connect();
    run(client->send(post("")));
    run_until([&] { return stream_ != nullptr; });
    const std::string piece(64 * 1024, 'x');
    std::size_t offered = 0;
    run_until([&] {
        offered += piece.size();
        return !stream_->offer(piece) || offered > 64U * 1024 * 1024;
    });
    EXPECT_LT(offered, 64U * 1024 * 1024);
    EXPECT_EQ(waiting, 1) << "the handler goes on";
}

TEST_F(HttpServerTest, StopEndsStreams) {
    start_streaming();
    const auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    stop();
    EXPECT_EQ(cancelled, 1);
}

// Plans a file of at most 64 KiB for every body.
HttpServer::Options spooling(const Fd& directory) {
    return {.body_of =
                [](const HttpRequest&) {
                    return access::BodyPlan{.limit = kibibytes(64),
                                            .place = access::BodyPlan::Place::File};
                },
            .spool = &directory};
}

TEST_F(HttpServerTest, ABodyCanGoIntoAFile) {
    const Fd directory(::open(testing::TempDir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    start_echo(spooling(directory));
    const std::string body(50'000, 'x');
    EXPECT_EQ(ask(post(body)).status, 200U);
    EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                  .status,
              200U);
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_TRUE(requests[0].body.empty());
    EXPECT_EQ(requests[0].body_file->size, 50'000U);
    EXPECT_EQ(read_all(requests[0].body_file->file, mebibytes(1)).value(), body);
    EXPECT_EQ(read_all(requests[1].body_file->file, mebibytes(1)).value(), "abcde");
    EXPECT_EQ(ask(post(std::string(70'000, 'x'))).status, 413U);
}

TEST_F(HttpServerTest, ABodyThatCannotGoIntoItsFileIsRefused) {
    const Fd nowhere;
    start_echo(spooling(nowhere));
    EXPECT_EQ(ask(post("body")).status, 507U);
    EXPECT_EQ(ask(kGet).status, 200U) << "without a body no file is needed";
}

TEST_F(HttpServerTest, SlowClientsRunOutOfTime) {
    const auto soon = std::chrono::milliseconds(50);
    start_echo({.times = {.head = soon, .body = soon}, .body_rate = mebibytes(1)});
    const auto slow_head = connect();
    EXPECT_EQ(exchange(*slow_head, "GET / HTTP/1.1\r\nA: b").status, 0U);
    const auto slow_body = connect();
    EXPECT_EQ(exchange(*slow_body, post("body").substr(0, post("body").size() - 1)).status, 0U);
    EXPECT_TRUE(requests.empty());
}

TEST_F(HttpServerTest, OneAddressHasSoManyConnections) {
    start_echo({.connections_each = 1});
    const auto first = connect();
    EXPECT_EQ(exchange(*first, kGet).status, 200U);
    const auto second = connect();
    EXPECT_EQ(receive(*second).status, 429U);
    first->close();
    run_until([this] { return server->connections() == 0; });
    EXPECT_EQ(ask(kGet).status, 200U);
}

TEST_F(HttpServerTest, SaysWhoTheClientIs) {
    start_echo({.trusted_proxies = {config::parse_address_range("127.0.0.0/8").value()}});
    ask(kGet);
    ask("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.7\r\n"
        "X-Forwarded-Proto: https\r\n\r\n");
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].client, "127.0.0.1");
    EXPECT_EQ(requests[0].scheme, "http");
    EXPECT_EQ(requests[1].client, "192.0.2.7");
    EXPECT_EQ(requests[1].scheme, "https");
}

TEST_F(HttpServerTest, WhatRunsGoesOnWhileTheServerDrains) {
    start([this](HttpRequest request, engine::CancellationPtr cancellation) {
        if (request.method == "GET") {
            return echo(request);
        }
        cancellation_ = cancellation;
        return wait_for_cancellation(std::move(cancellation));
    });
    const auto busy = connect();
    const auto idle = connect();
    EXPECT_EQ(exchange(*idle, kGet).status, 200U);
    run(busy->send(post("")));
    run_until([this] { return waiting == 1; });
    server->drain();
    run_until([&] { return accepting.wait_for(seconds(0)) == std::future_status::ready; });
    EXPECT_TRUE(server->is_busy());
    EXPECT_EQ(waiting, 1);
    const Answer last = exchange(*idle, kGet);
    EXPECT_EQ(last.status, 200U);
    EXPECT_FALSE(last.keeps_alive);
    cancellation_->request();
    EXPECT_FALSE(receive(*busy).keeps_alive);
    run_until([this] { return !server->is_busy(); });
}

}  // namespace
}  // namespace belljar::transport
