#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/http_message.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "transport/http_answer.h"
#include "transport/http_server.h"
#include "transport/stream_sender.h"
#include "transport/wire.h"

namespace belljar::transport {

// One client. Lives in the frame of HttpServer::serve(). While nothing is asked, it holds no
// buffers.
class HttpConnection {
   public:
    HttpConnection(HttpServer& server, Socket socket, Peer peer);
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;
    ~HttpConnection();

    // Until the client or the server has enough. `tls`: nullptr for clear text.
    Task<void> run(TlsFiles* tls);
    // Ends what is under way.
    void stop();
    // From now on a hang-up ends the request that is under way, if there is one.
    void watch();
    // Whether somebody waits for an answer that will come by itself; a stream that was asked for
    // with GET goes on as long as both sides like.
    [[nodiscard]] bool is_busy() const;

   private:
    using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

    // A request that was read, or what became of the attempt.
    struct Reading {
        enum class State { Complete, Refused, Gone };

        State state = State::Gone;
        access::HttpRequest request{};
        access::HttpResponse refusal{};
    };

    Task<Connectivity> serve_one();
    Task<Reading> read();
    // The head, or the refusal, or nothing if there is nobody to refuse.
    Task<Reading> read_head();
    Task<Wire::Error> read_more();
    // Method, path and query, as far as they are known: what a refusal looks like depends on them.
    [[nodiscard]] access::HttpRequest known_head() const;
    [[nodiscard]] Reading parse_head(std::size_t size);
    Task<Reading> read_body(access::HttpRequest request);
    Task<std::optional<access::HttpResponse>> read_pieces(access::HttpRequest* request,
                                                          access::BodyPlan plan, Fd file);
    Task<Wire::Error> say_continue();
    [[nodiscard]] Wire::Error parse_waiting();
    [[nodiscard]] access::BodyPlan plan_for(const access::HttpRequest& request) const;
    [[nodiscard]] std::string_view waiting() const;

    Task<access::HttpResponse> handle(access::HttpRequest request);
    Task<access::HttpResponse> answer(access::HttpRequest request);
    void begin_stream();
    void watch_for_hang_up();
    void watch_again_later();
    void end_watch();
    Task<Connectivity> write(access::HttpResponse answer, Connectivity connectivity);
    Task<Connectivity> write_file(access::HttpResponse answer, Connectivity connectivity);
    Task<Connectivity> end_stream(Connectivity connectivity);

    HttpServer& server_;
    Peer peer_;
    Wire wire_;
    boost::beast::flat_buffer buffer_;
    std::unique_ptr<Parser> parser_;
    boost::beast::http::verb verb_ = boost::beast::http::verb::get;  // of the request under way
    bool asked_ = false;                                             // a request is under way
    bool unread_ = false;  // the client may still be sending
    bool broken_ = false;  // the client is gone
    engine::CancellationPtr running_;
    std::shared_ptr<bool> watching_;  // as long as somebody may wait for a hang-up
    bool watched_ = false;            // somebody does, or has
    std::unique_ptr<asio::steady_timer> again_;
    access::ResponseStreamPtr answer_stream_;
    std::unique_ptr<StreamSender> sender_;
};

}  // namespace belljar::transport
