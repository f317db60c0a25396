#pragma once

#include "api/route_group.h"
#include "base/bytes.h"
#include "engine/executor.h"
#include "engine/file_threads.h"
#include "storage/zip_writer.h"

namespace belljar::api {

// Many files of a conversation at once, below /v1/conversations/{conversation_id}:
//   POST files      a form with files (multipart/form-data)
//   POST import     a ZIP archive
//   GET archive     the same the other way round
// What takes long is done by threads of its own. On the I/O thread.
class BulkRoutes final : public RouteGroup {
   public:
    struct Options {
        Bytes upload = gibibytes(1);
        Bytes archive = gibibytes(2);  // of what goes into an archive, before it is compressed
    };

    BulkRoutes(engine::Executor& executor, Options options)
        : files_(executor.conversations()), options_(options), threads_(kThreads) {}

    void add_to(OperationTable& table) override;

   private:
    static constexpr std::size_t kThreads = 2;
    static constexpr std::size_t kMostArchives = 4;  // that are made at a time

    struct Archive;

    Task<access::HttpResponse> upload(Call call);
    Task<access::HttpResponse> import(Call call);
    Task<access::HttpResponse> archive(Call call);

    Task<access::HttpResponse> write(engine::FileImport order);
    Task<Result<std::uint64_t>> fill(std::shared_ptr<Archive> archive, execution::FileName where);
    Task<Result<void>> add(std::shared_ptr<Archive> archive, execution::FileName name,
                           storage::ZipWriter::Entry entry);

    engine::Conversations& files_;
    Options options_;
    engine::FileThreads threads_;
    std::size_t archives_ = 0;  // under way
};

}  // namespace belljar::api
