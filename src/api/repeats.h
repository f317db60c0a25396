#pragma once

#include <string_view>

#include "api/operation.h"
#include "engine/state.h"

namespace belljar::api {

// Lets a caller send a request again without its being done twice: a POST under /v1 with the header
// Idempotency-Key is answered once, and whoever sends the same again gets the same answer, marked
// with Idempotency-Replayed. A refusal that says nothing about the request itself, such as one for
// lack of room, frees the key, and so does a caller who left before all was done. Keys are the
// principal's own.
class Repeats {
   public:
    explicit Repeats(engine::State& state) : state_(state) {}

    // Whether the call takes this way, be it to be refused.
    [[nodiscard]] static bool wants(const access::HttpRequest& request);
    // Whether there are answers of it that may be kept.
    [[nodiscard]] static bool keeps(std::string_view method, std::string_view path);
    Task<access::HttpResponse> answer(const Handler* handler, Call call);

   private:
    Task<access::HttpResponse> answer_first(const Handler* handler, Call call,
                                            execution::RepeatKey key);

    engine::State& state_;
};

// The header, for descriptions.
[[nodiscard]] Parameter repeat_parameter();

}  // namespace belljar::api
