#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "access/http_message.h"

namespace belljar::transport {

enum class Connectivity { KeepAlive, Close };

inline constexpr unsigned kHttp11 = 11;

using HeadOfAnswer = boost::beast::http::response<boost::beast::http::empty_body>;
using WholeAnswer = boost::beast::http::response<boost::beast::http::string_body>;

// Everything but the body and its length.
[[nodiscard]] HeadOfAnswer begin_answer(const access::HttpResponse& answer,
                                        Connectivity connectivity);
[[nodiscard]] WholeAnswer whole_answer(access::HttpResponse answer, Connectivity connectivity);

}  // namespace belljar::transport
