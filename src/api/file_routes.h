#pragma once

#include "api/route_group.h"
#include "base/bytes.h"
#include "engine/executor.h"
#include "storage/signed_url.h"

namespace belljar::api {

// The files of conversations, one at a time, below /v1/conversations/{conversation_id}:
//   GET files                lists them
//   GET, PUT, DELETE, PATCH files/{path}    reads, writes, deletes, moves one
//   POST files:sign          makes an address that needs no token
class FileRoutes final : public RouteGroup {
   public:
    struct Options {
        Bytes upload = gibibytes(1);
        const storage::UrlSigner* signer = nullptr;  // outlives this; nothing: there are no such
                                                     // addresses
    };

    FileRoutes(engine::Executor& executor, Options options)
        : files_(executor.conversations()), options_(options) {}

    void add_to(OperationTable& table) override;

   private:
    Task<access::HttpResponse> list(Call call);
    Task<access::HttpResponse> get(Call call);
    Task<access::HttpResponse> put(Call call);
    Task<access::HttpResponse> remove(Call call);
    Task<access::HttpResponse> move(Call call);
    Task<access::HttpResponse> sign(Call call);

    // What the request's headers say about changing the file.
    Task<Result<execution::FileCondition>> find_condition(access::HttpRequest request,
                                                          execution::FileName name);
    // Conflict if it is a directory.
    Task<Result<void>> expect_file(execution::FileName name);

    engine::Conversations& files_;
    Options options_;
};

}  // namespace belljar::api
