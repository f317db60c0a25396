#include <fcntl.h>

#include "access/gate.h"
#include "transport/test_http_server.h"

namespace belljar::transport {
namespace {

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
