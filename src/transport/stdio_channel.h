#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <string>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/readiness.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "mcp/stdio_session.h"

namespace belljar::transport {

// MCP over two descriptors: one message per line in, one per line out. Requests are answered as
// they finish, not in the order they came.
class StdioChannel {
   public:
    struct Options {
        Bytes line_limit = mebibytes(16);
    };

    // The descriptors are duplicated; their blocking mode is left alone.
    StdioChannel(const asio::any_io_executor& executor, mcp::StdioSession& session, Options options,
                 const Log& log);

    // Until the input ends or stop(); then every request that is still running is cancelled.
    Task<void> run();
    void stop();

   private:
    Task<void> answer(std::string line);
    Task<bool> read_more();
    void take_lines();
    void write_line(std::string line);

    mcp::StdioSession& session_;
    Options options_;
    Fd input_;
    Fd output_;
    Result<Readiness> readable_;
    TaskGroup requests_;
    std::string buffer_;
    bool skipping_ = false;  // inside a line that is too long
    bool stopped_ = false;
};

}  // namespace belljar::transport
