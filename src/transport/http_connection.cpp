#include "transport/http_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "access/gate.h"
#include "access/problem.h"
#include "transport/forwarded.h"

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;
using access::HttpRequest;
using access::HttpResponse;
using boost::system::error_code;

constexpr auto kLingerTime = std::chrono::seconds(2);
constexpr auto kGoodbyeTime = std::chrono::seconds(1);
constexpr auto kWatchPause = std::chrono::seconds(1);
constexpr std::size_t kHeadPiece = 4 * 1024;
constexpr std::size_t kBodyPiece = 64 * 1024;

// Without the body, which need not be there yet.
template <typename Message>
HttpRequest head_of(const Message& message) {
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

HttpResponse too_large(Bytes limit) {
    if (limit.count == 0) {
        return access::make_refusal(413, "no body is taken here");
    }
    return access::make_refusal(
        413, fmt::format("the body is larger than the {} bytes allowed", limit.count));
}

HttpResponse not_http() { return access::make_refusal(400, "not a valid HTTP/1.1 request"); }

HttpResponse no_space() {
    return access::make_refusal(507, "the server has no space for the body");
}

// A file without a name. Not O_EXCL: it may be given one.
Fd open_spool_file(const Fd& directory) {
    return Fd(::openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

bool is_event_stream(const access::ResponseStream& stream) {
    return stream.head().content_type.starts_with("text/event-stream");
}

}  // namespace

HttpConnection::HttpConnection(HttpServer& server, Socket socket, Peer peer)
    : server_(server), peer_(std::move(peer)), wire_(std::move(socket)) {
    server_.open_.insert(this);
}

HttpConnection::~HttpConnection() {
    server_.open_.erase(this);
    server_.unwatched_.erase(this);
}

Task<void> HttpConnection::run(TlsFiles* tls) {
    if (tls != nullptr) {
        const Wire::Error error =
            co_await wire_.shake_hands(tls->context(), server_.options_.times.handshake);
        broken_ = static_cast<bool>(error);
    }
    while (!broken_ && !server_.stopping_) {
        const Connectivity connectivity = co_await serve_one();
        asked_ = false;
        if (connectivity == Connectivity::Close) {
            break;
        }
    }
    if (unread_) {
        co_await wire_.linger(kLingerTime);
    } else if (!broken_) {
        co_await wire_.say_goodbye(kGoodbyeTime);
    }
    wire_.close();
}

void HttpConnection::stop() {
    if (running_) {
        running_->request();
    } else {
        wire_.abort();
    }
}

bool HttpConnection::is_busy() const {
    const bool listens = sender_ && verb_ == http::verb::get;
    return asked_ && !listens;
}

Task<Connectivity> HttpConnection::serve_one() {
    Reading reading = co_await read();
    if (reading.state == Reading::State::Gone) {
        broken_ = true;
        co_return Connectivity::Close;
    }
    if (reading.state == Reading::State::Refused) {
        unread_ = true;
        verb_ = http::verb::get;
        access::shape_refusal(known_head(), reading.refusal);
        co_await write(std::move(reading.refusal), Connectivity::Close);
        co_return Connectivity::Close;
    }
    const bool keeps = parser_->get().keep_alive();
    HttpResponse answer = co_await handle(std::move(reading.request));
    if (answer.status >= 400) {
        access::shape_refusal(known_head(), answer);
    }
    const bool stays = keeps && !server_.draining_;
    const Connectivity connectivity = stays ? Connectivity::KeepAlive : Connectivity::Close;
    if (sender_) {
        const Connectivity after = co_await end_stream(connectivity);
        co_return after;
    }
    const Connectivity after = co_await write(std::move(answer), connectivity);
    co_return after;
}

Task<HttpConnection::Reading> HttpConnection::read() {
    Reading reading = co_await read_head();
    if (reading.state != Reading::State::Complete) {
        co_return reading;
    }
    asked_ = true;
    HttpRequest& request = reading.request;
    if (const Result<void> believed = apply_forwarded(request, server_.options_.trusted_proxies);
        !believed) {
        co_return Reading{.state = Reading::State::Refused,
                          .refusal = access::make_refusal(400, believed.error().message)};
    }
    std::optional<HttpResponse> refusal =
        server_.options_.precheck ? server_.options_.precheck(request) : std::nullopt;
    if (refusal) {
        co_return Reading{.state = Reading::State::Refused, .refusal = std::move(*refusal)};
    }
    if (!parser_->is_done()) {
        reading = co_await read_body(std::move(reading.request));
    }
    co_return reading;
}

std::string_view HttpConnection::waiting() const {
    return {static_cast<const char*>(buffer_.data().data()), buffer_.size()};
}

Task<HttpConnection::Reading> HttpConnection::read_head() {
    parser_.reset();
    if (buffer_.size() == 0) {
        buffer_ = {};
        const Wire::Error error = co_await wire_.wait_for_input(server_.options_.times.idle);
        if (error) {
            co_return Reading{};
        }
    }
    // Through TLS there is nothing yet; what comes first may take as long as silence may.
    const bool begun = buffer_.size() > 0 || !wire_.encrypted();
    wire_.expires_after(begun ? server_.options_.times.head : server_.options_.times.idle);
    bool timed = begun;
    while (true) {
        while (waiting().starts_with("\r\n")) {
            buffer_.consume(2);  // some clients end a body with an empty line
        }
        if (const std::optional<std::size_t> size = find_end_of_head(waiting())) {
            co_return parse_head(*size);
        }
        if (auto fault = find_early_fault(waiting(), server_.options_.head)) {
            co_return Reading{.state = Reading::State::Refused,
                              .refusal = access::make_refusal(fault->status, fault->message)};
        }
        const Wire::Error error = co_await read_more();
        if (error) {
            co_return Reading{};
        }
        if (!std::exchange(timed, true)) {
            wire_.expires_after(server_.options_.times.head);
        }
    }
}

HttpRequest HttpConnection::known_head() const {
    if (parser_ && parser_->is_header_done()) {
        const std::string target(parser_->get().target());
        const std::size_t end = std::min(target.find('?'), target.size());
        return {.method = parser_->get().method_string(),
                .path = target.substr(0, end),
                .query = target.substr(std::min(end + 1, target.size()))};
    }
    const std::string_view line = waiting().substr(0, waiting().find_first_of("\r\n"));
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view target = line.substr(std::min(space + 1, line.size()));
    return {.method = std::string(line.substr(0, space)),
            .path = std::string(target.substr(0, target.find_first_of(" ?")))};
}

Task<Wire::Error> HttpConnection::read_more() {
    Wire::Error error;
    const std::size_t count = co_await wire_.async_read_some(
        buffer_.prepare(kHeadPiece), asio::redirect_error(asio::use_awaitable, error));
    buffer_.commit(count);
    co_return error;
}

HttpConnection::Reading HttpConnection::parse_head(std::size_t size) {
    const std::string_view head = waiting().substr(0, size);
    if (auto fault = find_fault(head, server_.options_.head)) {
        return {.state = Reading::State::Refused,
                .refusal = access::make_refusal(fault->status, fault->message)};
    }
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(static_cast<std::uint32_t>(size) + 1);
    parser_->body_limit(boost::none);  // known once the head is
    Wire::Error error;
    buffer_.consume(parser_->put(asio::buffer(head), error));
    if (error || !parser_->is_header_done()) {
        return {.state = Reading::State::Refused, .refusal = not_http()};
    }
    verb_ = parser_->get().method();
    Reading reading{.state = Reading::State::Complete, .request = head_of(parser_->get())};
    reading.request.client = peer_.address;
    reading.request.arrival = peer_.arrival;
    reading.request.scheme = wire_.encrypted() ? "https" : "http";
    return reading;
}

access::BodyPlan HttpConnection::plan_for(const HttpRequest& request) const {
    const HttpServer::Options& options = server_.options_;
    if (std::optional<access::BodyPlan> plan =
            options.body_of ? options.body_of(request) : std::nullopt) {
        return *plan;
    }
    return {.limit = options.body_limit};
}

Task<HttpConnection::Reading> HttpConnection::read_body(HttpRequest request) {
    const access::BodyPlan plan = plan_for(request);
    const auto length = parser_->content_length();
    if (length && *length > plan.limit.count) {
        co_return Reading{.state = Reading::State::Refused, .refusal = too_large(plan.limit)};
    }
    parser_->body_limit(plan.limit.count);
    Fd file;
    if (plan.place == access::BodyPlan::Place::File) {
        file = server_.options_.spool != nullptr ? open_spool_file(*server_.options_.spool) : Fd();
        if (!file.valid()) {
            server_.log_.error("no file can be made for a request's body",
                               {{"reason", system_error("open").describe()}});
            co_return Reading{.state = Reading::State::Refused, .refusal = no_space()};
        }
    }
    const Wire::Error error = co_await say_continue();
    if (error) {
        co_return Reading{};
    }
    std::optional<HttpResponse> refusal = co_await read_pieces(&request, plan, std::move(file));
    if (broken_) {
        co_return Reading{};
    }
    if (refusal) {
        co_return Reading{.state = Reading::State::Refused, .refusal = std::move(*refusal)};
    }
    co_return Reading{.state = Reading::State::Complete, .request = std::move(request)};
}

Task<Wire::Error> HttpConnection::say_continue() {
    Wire::Error error;
    if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
        wire_.expires_after(server_.options_.times.write);
        HeadOfAnswer proceed(http::status::continue_, kHttp11);
        co_await http::async_write(wire_, proceed,
                                   asio::redirect_error(asio::use_awaitable, error));
    }
    co_return error;
}

// What has come together with the head, which is all of a short body.
Wire::Error HttpConnection::parse_waiting() {
    Wire::Error error = http::error::need_more;
    if (buffer_.size() > 0) {
        buffer_.consume(parser_->put(buffer_.data(), error));
    }
    return error;
}

// Into the request's body, or into the file if there is one. A client that is slower than the rate
// runs out of time.
Task<std::optional<HttpResponse>> HttpConnection::read_pieces(HttpRequest* request,
                                                              access::BodyPlan plan, Fd file) {
    const TimePoint begin = Clock::now() + server_.options_.times.body;
    std::vector<char> piece(
        std::min<std::uint64_t>(parser_->content_length().value_or(kBodyPiece), kBodyPiece));
    std::uint64_t size = 0;
    // Beast has no limit of its own for the line that begins a chunk, nor for what follows the last
    // one; each waits here until it is whole.
    buffer_.max_size(server_.options_.head.size.count + kBodyPiece);
    while (!parser_->is_done()) {
        parser_->get().body().data = piece.data();
        parser_->get().body().size = piece.size();
        Wire::Error error = parse_waiting();
        if (error == http::error::need_more) {
            wire_.expires_at(begin + std::chrono::seconds(size / server_.options_.body_rate.count));
            co_await http::async_read_some(wire_, buffer_, *parser_,
                                           asio::redirect_error(asio::use_awaitable, error));
        }
        const std::string_view part(piece.data(), piece.size() - parser_->get().body().size);
        if (error == http::error::body_limit) {
            co_return too_large(plan.limit);
        }
        if (error && error != http::error::need_buffer) {
            broken_ = error.category() != make_error_code(http::error::bad_chunk).category() ||
                      error == http::error::partial_message || error == http::error::end_of_stream;
            co_return not_http();
        }
        size += part.size();
        if (!file.valid()) {
            request->body.append(part);
        } else if (const Result<void> written = write_all(file, part); !written) {
            server_.log_.error("a request's body could not be kept",
                               {{"reason", written.error().describe()}});
            co_return no_space();
        }
    }
    if (file.valid()) {
        ::lseek(file.get(), 0, SEEK_SET);
        request->body_file = std::make_shared<const access::BodyFile>(std::move(file), size);
    }
    co_return std::nullopt;
}

Task<HttpResponse> HttpConnection::handle(HttpRequest request) {
    wire_.expires_never();
    running_ = std::make_shared<engine::Cancellation>();
    watching_ = std::make_shared<bool>(true);
    watched_ = false;
    server_.watch_soon(this);
    sender_.reset();
    answer_stream_ = std::make_shared<access::ResponseStream>(access::ResponseStream::Reader{
        .on_open = [this] { begin_stream(); }, .on_piece = [this] { sender_->notice(); }});
    request.stream = answer_stream_;
    HttpResponse response = co_await answer(std::move(request));
    running_ = nullptr;
    if (!sender_) {
        end_watch();
    }
    co_return response;
}

// Whatever a handler throws is our fault and ends here.
Task<HttpResponse> HttpConnection::answer(HttpRequest request) {
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

void HttpConnection::begin_stream() {
    const auto leave = [this] {
        if (const engine::CancellationPtr running = running_) {
            running->request();
        }
    };
    sender_ = std::make_unique<StreamSender>(
        wire_, answer_stream_,
        StreamSender::Manner{.version = parser_->get().version(),
                             .keep_alive = server_.options_.keep_alive,
                             .time = server_.options_.times.write,
                             .on_failure = leave},
        server_.log_);
    sender_->begin(server_.writers_);
}

void HttpConnection::watch() {
    if (watching_ && !std::exchange(watched_, true)) {
        watch_for_hang_up();
    }
}

// Until the request is answered. It may be over, and all of this gone, when the call comes.
void HttpConnection::watch_for_hang_up() {
    wire_.socket().async_wait(Socket::wait_read,
                              [this, watched = std::weak_ptr(watching_)](const Wire::Error& error) {
                                  const std::shared_ptr<bool> watching = watched.lock();
                                  if (error || !watching || !running_) {
                                      return;
                                  }
                                  if (!wire_.has_hung_up()) {
                                      watch_again_later();
                                      return;
                                  }
                                  const engine::CancellationPtr running = running_;
                                  running->request();
                              });
}

// The client has sent more than its request, and may still hang up behind it.
void HttpConnection::watch_again_later() {
    again_ = std::make_unique<asio::steady_timer>(wire_.get_executor(), kWatchPause);
    again_->async_wait([this, watched = std::weak_ptr(watching_)](const Wire::Error& error) {
        if (!error && watched.lock()) {
            watch_for_hang_up();
        }
    });
}

// Also whatever else is under way with the socket.
void HttpConnection::end_watch() {
    answer_stream_->detach();
    watching_ = nullptr;
    again_ = nullptr;
    if (watched_ || sender_) {
        wire_.cancel();
    }
}

Task<Connectivity> HttpConnection::write(HttpResponse answer, Connectivity connectivity) {
    if (answer.file) {
        const Connectivity after = co_await write_file(std::move(answer), connectivity);
        co_return after;
    }
    Wire::Error error;
    wire_.expires_after(server_.options_.times.write);
    WholeAnswer response = whole_answer(std::move(answer), connectivity);
    if (verb_ == http::verb::head) {
        response.body.clear();  // the length stays as it was
        response.rest.reset();
    }
    co_await asio::async_write(wire_, response.buffers(),
                               asio::redirect_error(asio::use_awaitable, error));
    broken_ = broken_ || error;
    co_return error ? Connectivity::Close : connectivity;
}

// However large the file is, a piece of it at most is in memory.
Task<Connectivity> HttpConnection::write_file(HttpResponse answer, Connectivity connectivity) {
    Wire::Error error;
    wire_.expires_after(server_.options_.times.write);
    HeadOfAnswer head = begin_answer(answer, connectivity);
    head.content_length(answer.file->length);
    co_await http::async_write(wire_, head, asio::redirect_error(asio::use_awaitable, error));
    if (!error && verb_ != http::verb::head) {
        wire_.expires_never();
        error = co_await wire_.send_file(&*answer.file, server_.options_.times.write);
        if (error == boost::system::errc::io_error) {
            // The length was promised: only a closed connection tells that it is not kept.
            server_.log_.error("a file could not be sent to its end");
        }
    }
    broken_ = broken_ || error;
    co_return error ? Connectivity::Close : connectivity;
}

Task<Connectivity> HttpConnection::end_stream(Connectivity connectivity) {
    const bool farewell = server_.stopping_ && is_event_stream(*answer_stream_);
    const bool complete = co_await sender_->end(farewell ? ": the server is stopping\n\n" : "");
    end_watch();
    sender_.reset();
    broken_ = broken_ || !complete;
    co_return complete ? connectivity : Connectivity::Close;
}

}  // namespace belljar::transport
