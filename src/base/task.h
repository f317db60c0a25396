#pragma once

#include <boost/asio/awaitable.hpp>

namespace belljar {

namespace asio = boost::asio;

// A coroutine on the one I/O thread. Await into a name, one co_await per statement; take
// parameters by value, because the caller's references may be gone at the first suspension.
template <typename T>
using Task = asio::awaitable<T>;

}  // namespace belljar
