#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/readiness.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "mcp/connection.h"

namespace belljar::transport {

// MCP over two descriptors: one message per line in, one per line out. Requests are answered as
// they finish, not in the order they came. A client that does not read holds up nothing but what is
// for it: answers wait, notifications are left out, and no more is read from it meanwhile.
class StdioChannel {
   public:
    struct Options {
        Bytes line_limit = mebibytes(16);
        Bytes notification_limit = kibibytes(256);  // waiting, beyond which there are no more
    };

    // The descriptors are duplicated; their blocking mode is left alone.
    StdioChannel(const asio::any_io_executor& executor, mcp::Connection& connection,
                 Options options, const Log& log);

    StdioChannel(const StdioChannel&) = delete;
    StdioChannel& operator=(const StdioChannel&) = delete;
    ~StdioChannel() { connection_.on_notification(nullptr); }

    // Until the input ends or stop(); then every request that is still running is cancelled.
    Task<void> run();
    void stop();

   private:
    Task<void> answer(std::string line);
    Task<bool> read_more();
    void take_lines();
    void write_line(const std::string& line);
    bool offer_line(const std::string& line);
    void write_what_fits();
    Task<void> write_rest();
    Task<void> await_room();

    mcp::Connection& connection_;
    Options options_;
    Fd input_;
    Fd output_;
    Result<Readiness> readable_;
    Result<Readiness> writable_;
    TaskGroup requests_;
    TaskGroup writers_;  // at most one
    asio::steady_timer room_;
    std::string buffer_;
    std::string outgoing_;   // whole lines, the first of which may have begun
    bool skipping_ = false;  // inside a line that is too long
    bool stopped_ = false;
};

}  // namespace belljar::transport
