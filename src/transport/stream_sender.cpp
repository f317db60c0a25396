#include "transport/stream_sender.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <exception>
#include <utility>

#include "transport/http_answer.h"

namespace belljar::transport {
namespace {

namespace http = boost::beast::http;

}  // namespace

StreamSender::StreamSender(Wire& wire, access::ResponseStreamPtr source, Manner manner,
                           const Log& log)
    : wire_(wire),
      source_(std::move(source)),
      manner_(std::move(manner)),
      log_(log),
      chunked_(manner_.version >= kHttp11),
      piece_(wire.get_executor()),
      written_(wire.get_executor()) {}

void StreamSender::begin(TaskGroup& writers) {
    if (!writers.spawn("stream", write())) {
        state_ = State::Failed;
    }
}

// Whatever goes wrong, whoever waits for the end of the stream is told.
Task<void> StreamSender::write() {
    Wire::Error error = asio::error::fault;
    try {
        error = co_await write_pieces();
    } catch (const std::exception& failure) {
        log_.error("a stream could not be sent", {{"reason", failure.what()}});
    }
    if (error) {
        manner_.on_failure();
    }
    state_ = error ? State::Failed : State::Done;
    written_.cancel();
}

// Until the handler has ended and all is sent. A client that takes nothing is waited for as long as
// its request runs.
Task<Wire::Error> StreamSender::write_pieces() {
    Wire::Error error = co_await write_head();
    while (!error && (state_ == State::Open || !source_->empty())) {
        if (source_->empty()) {
            co_await await_piece();
        }
        const bool silent = source_->empty() && state_ == State::Open;
        std::string piece = silent ? source_->head().keep_alive : source_->take();
        error = co_await write_piece(std::move(piece));
    }
    if (!error) {
        error = co_await write_piece(farewell_);
    }
    if (!error && chunked_) {
        co_await asio::async_write(wire_, http::make_chunk_last(),
                                   asio::redirect_error(asio::use_awaitable, error));
    }
    co_return error;
}

// Until there is something to send or nothing more will come, but not for longer than silence may
// last.
Task<void> StreamSender::await_piece() {
    Wire::Error ignored;
    piece_.expires_after(manner_.keep_alive);
    co_await piece_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<Wire::Error> StreamSender::write_head() {
    const access::HttpResponse answer{.content_type = source_->head().content_type,
                                      .headers = source_->head().headers};
    HeadOfAnswer head =
        begin_answer(answer, chunked_ ? Connectivity::KeepAlive : Connectivity::Close);
    head.set(http::field::content_type, answer.content_type);
    head.chunked(chunked_);
    http::response_serializer<http::empty_body> serializer(head);
    Wire::Error error;
    co_await http::async_write_header(wire_, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
    co_return error;
}

Task<Wire::Error> StreamSender::write_piece(std::string piece) {
    Wire::Error error;
    if (piece.empty()) {
        co_return error;  // an empty chunk would be the last one
    }
    if (chunked_) {
        co_await asio::async_write(wire_, http::make_chunk(asio::buffer(piece)),
                                   asio::redirect_error(asio::use_awaitable, error));
    } else {
        co_await asio::async_write(wire_, asio::buffer(piece),
                                   asio::redirect_error(asio::use_awaitable, error));
    }
    sent_ += piece.size();
    co_return error;
}

// The client has the usual time for each part of the rest.
Task<bool> StreamSender::end(std::string farewell) {
    farewell_ = std::move(farewell);
    if (state_ == State::Open) {
        state_ = State::Ending;
        piece_.cancel();
    }
    while (state_ == State::Ending) {
        const std::uint64_t sent = sent_;
        Wire::Error ignored;
        written_.expires_after(manner_.time);
        co_await written_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        if (state_ == State::Ending && sent == sent_) {
            wire_.cancel();
        }
    }
    co_return state_ == State::Done&& chunked_;
}

}  // namespace belljar::transport
