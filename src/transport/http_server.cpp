#include "transport/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>

#include "access/gate.h"

namespace belljar::transport {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using access::HttpRequest;
using access::HttpResponse;
using asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;
using Response = http::response<http::string_body>;

constexpr std::uint32_t kHeaderLimit = 32 * 1024;
constexpr auto kIdleTime = std::chrono::seconds(60);
constexpr auto kBodyTime = std::chrono::seconds(60);
constexpr auto kWriteTime = std::chrono::seconds(60);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);
constexpr auto kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kLingerChunk = 16 * 1024;
constexpr std::size_t kLingerLimit = 64 * 1024 * 1024;
constexpr std::size_t kFileChunk = 64 * 1024;
constexpr unsigned kHttp11 = 11;

enum class Connectivity { KeepAlive, Close };

// Without the body, which need not be there yet.
HttpRequest head_of(const Parser::value_type& message) {
    HttpRequest request;
    request.method = message.method_string();
    const std::string target(message.target());
    const std::size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string::npos) {
        request.query = target.substr(question + 1);
    }
    for (const auto& field : message) {
        request.headers.emplace(field.name_string(), field.value());
    }
    return request;
}

// Everything but the body and its length.
template <typename Body>
http::response<Body> begin_response(const HttpResponse& answer, Connectivity connectivity) {
    http::response<Body> response(static_cast<http::status>(answer.status), kHttp11);
    // Nothing that is answered here is for a cache or for guessing browsers.
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    if (!answer.body.empty() || answer.file) {
        response.set(http::field::content_type, answer.content_type);
    }
    for (const auto& [name, value] : answer.headers) {
        response.insert(name, value);
    }
    response.keep_alive(connectivity == Connectivity::KeepAlive);
    return response;
}

Response to_response(HttpResponse answer, Connectivity connectivity) {
    auto response = begin_response<http::string_body>(answer, connectivity);
    response.body() = std::move(answer.body);
    response.prepare_payload();
    return response;
}

// Closed or reset. A client that sends more already is still there.
bool has_hung_up(int socket) {
    char next = 0;
    const ssize_t count = ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

// What to say to a request that could not even be read; nothing if there is nobody to say it to.
std::optional<HttpResponse> refusal_of(const beast::error_code& error, Bytes body_limit) {
    if (error == http::error::end_of_stream || error == beast::error::timeout ||
        error.category() == asio::error::get_system_category()) {
        return std::nullopt;
    }
    if (error == http::error::body_limit) {
        return access::make_refusal(
            413, fmt::format("the body is larger than the {} bytes allowed", body_limit.count));
    }
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
        return access::make_refusal(
            431, fmt::format("the headers are larger than the {} bytes allowed", kHeaderLimit));
    }
    return access::make_refusal(400, "not a valid HTTP/1.1 request");
}

}  // namespace

// One client. Lives in the frame of HttpServer::serve().
class HttpServer::Connection {
   public:
    Connection(HttpServer& server, tcp::socket socket)
        : server_(server),
          stream_(std::move(socket)),
          piece_(stream_.get_executor()),
          written_(stream_.get_executor()) {
        server_.open_.insert(this);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { server_.open_.erase(this); }

    Task<void> run() {
        while (!server_.stopping_) {
            const Connectivity connectivity = co_await serve_one();
            if (connectivity == Connectivity::Close) {
                break;
            }
        }
        if (unread_) {
            co_await linger();
        }
        stream_.close();
    }

    void stop() {
        if (running_) {
            running_->request();
        } else {
            stream_.cancel();
        }
    }

   private:
    Task<Connectivity> serve_one() {
        beast::error_code error = co_await read_head();
        HttpRequest request = error ? HttpRequest{} : head_of(parser_->get());
        std::optional<HttpResponse> refusal = error ? std::nullopt : precheck(request);
        if (!error && !refusal) {
            error = co_await read_body();
        }
        if (error) {
            refusal = refusal_of(error, server_.options_.body_limit);
        }
        unread_ = refusal.has_value();
        if (refusal) {
            co_await write(std::move(*refusal), Connectivity::Close, http::verb::get);
        }
        if (error || refusal) {
            co_return Connectivity::Close;
        }
        const http::verb verb = parser_->get().method();
        const Connectivity wanted =
            parser_->get().keep_alive() ? Connectivity::KeepAlive : Connectivity::Close;
        request.body = std::move(parser_->get().body());
        HttpResponse answer = co_await handle(std::move(request));
        const Connectivity connectivity = server_.stopping_ ? Connectivity::Close : wanted;
        if (answer_stream_->is_open()) {
            const Connectivity after = co_await end_stream(connectivity);
            co_return after;
        }
        const Connectivity after = co_await write(std::move(answer), connectivity, verb);
        co_return after;
    }

    Task<beast::error_code> read_head() {
        parser_.emplace();
        parser_->header_limit(kHeaderLimit);
        parser_->body_limit(server_.options_.body_limit.count);
        beast::error_code error;
        stream_.expires_after(kIdleTime);
        co_await http::async_read_header(stream_, buffer_, *parser_,
                                         asio::redirect_error(asio::use_awaitable, error));
        co_return error;
    }

    std::optional<HttpResponse> precheck(const HttpRequest& head) {
        return server_.options_.precheck ? server_.options_.precheck(head) : std::nullopt;
    }

    Task<beast::error_code> read_body() {
        beast::error_code error;
        stream_.expires_after(kBodyTime);
        if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
            Response proceed(http::status::continue_, kHttp11);
            co_await http::async_write(stream_, proceed,
                                       asio::redirect_error(asio::use_awaitable, error));
        }
        if (!error) {
            co_await http::async_read(stream_, buffer_, *parser_,
                                      asio::redirect_error(asio::use_awaitable, error));
        }
        co_return error;
    }

    // A socket that is closed with unread data in it is reset, and the client may never see the
    // answer. So what it still sends is read and thrown away, within bounds.
    Task<void> linger() {
        beast::error_code error;
        stream_.socket().shutdown(tcp::socket::shutdown_send, error);
        stream_.expires_after(kLingerTime);
        std::vector<char> nowhere(kLingerChunk);
        for (std::size_t drained = 0; !error && drained < kLingerLimit;) {
            drained += co_await stream_.async_read_some(
                asio::buffer(nowhere), asio::redirect_error(asio::use_awaitable, error));
        }
    }

    Task<HttpResponse> handle(HttpRequest request) {
        stream_.expires_never();
        running_ = std::make_shared<engine::Cancellation>();
        watch_for_hang_up();
        answer_stream_ = std::make_shared<access::ResponseStream>(access::ResponseStream::Reader{
            .on_open = [this] { begin_stream(); }, .on_piece = [this] { piece_.cancel(); }});
        request.stream = answer_stream_;
        HttpResponse response = co_await answer(std::move(request));
        running_ = nullptr;
        if (!answer_stream_->is_open()) {
            end_watch();
        }
        co_return response;
    }

    // Whatever a handler throws is our fault and ends here.
    Task<HttpResponse> answer(HttpRequest request) {
        try {
            HttpResponse response = co_await server_.handler_(std::move(request), running_);
            co_return response;
        } catch (const std::exception& error) {
            server_.log_.error("a request could not be answered", {{"reason", error.what()}});
        } catch (...) {
            server_.log_.error("a request could not be answered");
        }
        co_return access::make_refusal(500, "the server could not answer; its log says why");
    }

    // Until the request is answered. It may be over, and all of this gone, when the call comes.
    void watch_for_hang_up() {
        stream_.socket().async_wait(
            tcp::socket::wait_read,
            [watched = std::weak_ptr(running_),
             socket = stream_.socket().native_handle()](const beast::error_code& error) {
                const engine::CancellationPtr running = watched.lock();
                if (!error && running && has_hung_up(socket)) {
                    running->request();
                }
            });
    }

    // Also whatever else is under way with the socket.
    void end_watch() {
        answer_stream_->detach();
        beast::error_code ignored;
        stream_.socket().cancel(ignored);
    }

    Task<Connectivity> write(HttpResponse answer, Connectivity connectivity, http::verb verb) {
        if (answer.file) {
            const Connectivity after = co_await write_file(std::move(answer), connectivity, verb);
            co_return after;
        }
        beast::error_code error;
        stream_.expires_after(kWriteTime);
        Response response = to_response(std::move(answer), connectivity);
        if (verb == http::verb::head) {
            response.body().clear();  // the length stays as it was
        }
        co_await http::async_write(stream_, response,
                                   asio::redirect_error(asio::use_awaitable, error));
        co_return error ? Connectivity::Close : connectivity;
    }

    // However large the file is, a piece of it is all that is in memory. A client has the usual
    // time for each piece.
    Task<Connectivity> write_file(HttpResponse answer, Connectivity connectivity, http::verb verb) {
        beast::error_code error;
        stream_.expires_after(kWriteTime);
        const access::FilePart& part = *answer.file;
        auto head = begin_response<http::empty_body>(answer, connectivity);
        head.content_length(part.length);
        co_await http::async_write(stream_, head, asio::redirect_error(asio::use_awaitable, error));
        std::uint64_t sent = verb == http::verb::head ? part.length : 0;
        std::vector<char> buffer(kFileChunk);
        while (!error && sent < part.length) {
            const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), part.length - sent);
            const ssize_t count = ::pread(part.file.get(), buffer.data(), wanted,
                                          static_cast<off_t>(part.offset + sent));
            if (count <= 0) {
                // The length was promised: only a closed connection tells that it is not kept.
                server_.log_.error("a file could not be sent to its end");
                co_return Connectivity::Close;
            }
            sent += static_cast<std::uint64_t>(count);
            stream_.expires_after(kWriteTime);
            co_await asio::async_write(stream_,
                                       asio::buffer(buffer.data(), static_cast<std::size_t>(count)),
                                       asio::redirect_error(asio::use_awaitable, error));
        }
        co_return error ? Connectivity::Close : connectivity;
    }

    void begin_stream() {
        writing_ = Writing::Open;
        server_.writers_.spawn("stream", write_stream());
    }

    // Whatever goes wrong, whoever waits for the end of the stream is told.
    Task<void> write_stream() {
        beast::error_code error = asio::error::fault;
        try {
            error = co_await write_pieces(answer_stream_);
        } catch (const std::exception& failure) {
            server_.log_.error("a stream could not be sent", {{"reason", failure.what()}});
        }
        if (error && running_) {
            const engine::CancellationPtr running = running_;
            running->request();
        }
        writing_ = error ? Writing::Failed : Writing::Done;
        written_.cancel();
    }

    // Sends what the handler puts into its stream, until the handler has ended and all is sent. A
    // client that takes nothing is waited for as long as its request runs.
    Task<beast::error_code> write_pieces(access::ResponseStreamPtr source) {
        chunked_ = parser_->get().version() >= kHttp11;
        beast::error_code error = co_await write_stream_head(source->head());
        while (!error && (writing_ == Writing::Open || !source->empty())) {
            if (source->empty()) {
                co_await await_piece();
            }
            const bool silent = source->empty() && writing_ == Writing::Open;
            std::string piece = silent ? source->head().keep_alive : source->take();
            error = co_await write_piece(std::move(piece));
        }
        if (!error && chunked_) {
            co_await asio::async_write(stream_, http::make_chunk_last(),
                                       asio::redirect_error(asio::use_awaitable, error));
        }
        co_return error;
    }

    // Until there is something to send or nothing more will come, but not for longer than silence
    // may last.
    Task<void> await_piece() {
        beast::error_code ignored;
        piece_.expires_after(server_.options_.keep_alive);
        co_await piece_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }

    Task<beast::error_code> write_stream_head(access::StreamHead stream_head) {
        const HttpResponse answer{.content_type = stream_head.content_type,
                                  .headers = std::move(stream_head.headers)};
        auto head = begin_response<http::empty_body>(
            answer, chunked_ ? Connectivity::KeepAlive : Connectivity::Close);
        head.set(http::field::content_type, answer.content_type);
        head.chunked(chunked_);
        http::response_serializer<http::empty_body> serializer(head);
        beast::error_code error;
        co_await http::async_write_header(stream_, serializer,
                                          asio::redirect_error(asio::use_awaitable, error));
        co_return error;
    }

    Task<beast::error_code> write_piece(std::string piece) {
        beast::error_code error;
        if (piece.empty()) {
            co_return error;  // an empty chunk would be the last one
        }
        if (chunked_) {
            co_await asio::async_write(stream_, http::make_chunk(asio::buffer(piece)),
                                       asio::redirect_error(asio::use_awaitable, error));
        } else {
            co_await asio::async_write(stream_, asio::buffer(piece),
                                       asio::redirect_error(asio::use_awaitable, error));
        }
        sent_ += piece.size();
        co_return error;
    }

    // Once the handler has ended, the client has the usual time for each part of the rest.
    Task<Connectivity> end_stream(Connectivity connectivity) {
        if (writing_ == Writing::Open) {
            writing_ = Writing::Ending;
            piece_.cancel();
        }
        while (writing_ == Writing::Ending) {
            const std::uint64_t sent = sent_;
            beast::error_code ignored;
            written_.expires_after(kWriteTime);
            co_await written_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
            if (writing_ == Writing::Ending && sent == sent_) {
                stream_.socket().cancel(ignored);
            }
        }
        end_watch();
        co_return writing_ == Writing::Done&& chunked_ ? connectivity : Connectivity::Close;
    }

    enum class Writing { Open, Ending, Done, Failed };

    HttpServer& server_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<Parser> parser_;
    bool unread_ = false;  // the client may still be sending
    engine::CancellationPtr running_;

    access::ResponseStreamPtr answer_stream_;
    Writing writing_ = Writing::Done;
    bool chunked_ = true;
    std::uint64_t sent_ = 0;      // of streams
    asio::steady_timer piece_;    // until there is something to send
    asio::steady_timer written_;  // until a stream is sent to its end
};

Result<tcp::acceptor> HttpServer::listen(const asio::any_io_executor& executor,
                                         const config::ListenAddress& address) {
    beast::error_code error;
    // Numbers only: looking up a name would ask somebody else where we are to listen.
    const std::string host = address.host.empty()          ? "0.0.0.0"
                             : address.host == "localhost" ? "127.0.0.1"
                                                           : address.host;
    const tcp::endpoint endpoint(asio::ip::make_address(host, error), address.port);
    if (error) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("cannot listen on \"{}\": use localhost or a numeric address of "
                                "this host",
                                host));
    }
    tcp::acceptor acceptor(executor);
    acceptor.open(endpoint.protocol(), error);
    if (!error) {
        acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
        acceptor.bind(endpoint, error);
    }
    if (!error) {
        acceptor.listen(tcp::acceptor::max_listen_connections, error);
    }
    if (error == asio::error::address_in_use) {
        return fail(ErrorCode::Conflict,
                    fmt::format("{} is in use already; stop the other program or choose another "
                                "address with --listen",
                                config::format_listen_address(address)));
    }
    if (error) {
        return fail(ErrorCode::Unavailable,
                    fmt::format("cannot listen on {}: {}", config::format_listen_address(address),
                                error.message()));
    }
    return acceptor;
}

HttpServer::HttpServer(tcp::acceptor acceptor, Handler handler, Options options, const Log& log)
    : acceptor_(std::move(acceptor)),
      handler_(std::move(handler)),
      options_(options),
      log_(log),
      connections_(acceptor_.get_executor(), log),
      writers_(acceptor_.get_executor(), log) {}

Task<void> HttpServer::run() {
    asio::steady_timer pause(acceptor_.get_executor());
    while (!stopping_) {
        beast::error_code error;
        if (open_.size() >= options_.connections) {
            // New clients wait in the kernel's queue until somebody leaves.
            pause.expires_after(kAcceptPause);
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
            continue;
        }
        tcp::socket socket =
            co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
        if (!error) {
            socket.set_option(tcp::no_delay(true), error);
            connections_.spawn("connection", serve(std::move(socket)));
        } else if (error != asio::error::operation_aborted) {
            log_.warning("a connection could not be accepted", {{"reason", error.message()}});
            pause.expires_after(kAcceptPause);
            co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        }
    }
}

Task<void> HttpServer::serve(tcp::socket socket) {
    Connection connection(*this, std::move(socket));
    co_await connection.run();
}

void HttpServer::stop() {
    stopping_ = true;
    beast::error_code ignored;
    acceptor_.close(ignored);
    for (Connection* connection : std::set(open_)) {
        connection->stop();
    }
    connections_.close();
}

Task<void> HttpServer::wait(TimePoint deadline) { return connections_.wait(deadline); }

}  // namespace belljar::transport
