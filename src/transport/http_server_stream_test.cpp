#include "transport/test_http_server.h"

namespace belljar::transport {
namespace {

class HttpServerStreamTest : public HttpServerTest {
   protected:
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

    access::ResponseStreamPtr stream_;
};

TEST_F(HttpServerStreamTest, StreamsPiecesAsTheyCome) {
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

TEST_F(HttpServerStreamTest, StreamWithoutPiecesIsEmpty) {
    start_streaming();
    const auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    cancellation_->request();
    EXPECT_EQ(read_to(*client, "0\r\n\r\n"), "0\r\n\r\n");
}

TEST_F(HttpServerStreamTest, StreamToAnOldClientEndsWithTheConnection) {
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

TEST_F(HttpServerStreamTest, SilentStreamIsKeptAlive) {
    start_streaming({.keep_alive = std::chrono::milliseconds(10)});
    const auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    EXPECT_EQ(read_to(*client, ".\r\n").substr(0, 6), "1\r\n.\r\n");
}

TEST_F(HttpServerStreamTest, ClientThatLeavesAStreamCancels) {
    start_streaming();
    auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    client->close();
    run_until([&] { return cancelled == 1; });
}

TEST_F(HttpServerStreamTest, ClientThatReadsNothingFillsItsQueueAndNoMore) {
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

TEST_F(HttpServerStreamTest, StopEndsStreams) {
    start_streaming();
    const auto client = connect();
    run(client->send(post("")));
    read_to(*client, "\r\n\r\n");
    stop();
    EXPECT_EQ(cancelled, 1);
}

}  // namespace
}  // namespace belljar::transport
