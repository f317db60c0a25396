#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <memory>
#include <string>

#include "access/http_message.h"

namespace belljar::transport {

enum class Connectivity { KeepAlive, Close };

inline constexpr unsigned kHttp11 = 11;

using HeadOfAnswer = boost::beast::http::response<boost::beast::http::empty_body>;

// An answer as it is sent. The head is one text: gathering it field by field costs more than to
// write it.
struct WholeAnswer {
    std::string head{};
    std::string body{};
    std::shared_ptr<const std::string> rest{};  // of the body, which others share; nullptr: none

    // All of it, to be sent by one call as long as this lives.
    [[nodiscard]] std::array<boost::asio::const_buffer, 3> buffers() const;
};

// Everything but the body and its length.
[[nodiscard]] HeadOfAnswer begin_answer(const access::HttpResponse& answer,
                                        Connectivity connectivity);
[[nodiscard]] WholeAnswer whole_answer(access::HttpResponse answer, Connectivity connectivity);

}  // namespace belljar::transport
