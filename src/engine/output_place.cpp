#include "engine/output_place.h"

namespace belljar::engine {

std::optional<std::string> publish_output(const OutputPlace& place, GuestIo& io,
                                          const std::string& execution_id, const Log& log) {
    storage::OutputRecording* recording = io.recording();
    if (recording == nullptr) {
        return std::nullopt;
    }
    const Result<bool> published = recording->publish();
    if (recording->fault() || !published) {
        const Error& error = published ? *recording->fault() : published.error();
        log.warning("an output could not be kept",
                    {{"execution_id", execution_id}, {"reason", error.describe()}});
    }
    if (!published || !*published) {
        return std::nullopt;
    }
    return place.uri_before + execution_id + place.uri_after;
}

}  // namespace belljar::engine
