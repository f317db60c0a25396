#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "execution/request.h"
#include "execution/result.h"
#include "mcp/answer.h"

namespace belljar::mcp {

// What a program has shown, as content for a model, in order. Compact: each output in its best
// form, a picture before text, and not the text that stands as the run's value already. Full: every
// form that is a picture or text, with its type. Behind it, where the rest is to be read: streams
// that were too long, and files that the run has written.
[[nodiscard]] std::vector<Content> content_of(const execution::RunResult& result,
                                              execution::OutputForm form);

// Whether the file can be read: one that the run has deleted has no digest.
[[nodiscard]] bool is_there(const execution::ProducedFile& file);

// Where a stream of a run is to be read as a resource.
[[nodiscard]] std::string stream_uri(std::string_view execution_id, execution::OutputStream stream);

}  // namespace belljar::mcp
