#pragma once

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
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/http_server.h"

// A server on loopback with handlers of a test's own, and clients that speak to it byte by byte.
namespace belljar::transport {

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
    engine::CancellationPtr cancellation_;
};

inline const std::string kGet = "GET /path?a=b&c HTTP/1.1\r\nHost: localhost\r\nX-Own: 1\r\n\r\n";

}  // namespace belljar::transport
