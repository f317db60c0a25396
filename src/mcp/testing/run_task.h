#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>

#include "base/task.h"

namespace belljar::mcp {

// Runs a coroutine that needs nothing from outside, to its end.
template <typename T>
T run_task(Task<T> task) {
    asio::io_context context;
    std::future<T> value = asio::co_spawn(context, std::move(task), asio::use_future);
    context.run();
    return value.get();
}

}  // namespace belljar::mcp
