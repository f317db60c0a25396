// Bytes -> what a guest wrote into its report and its output, up to the record that a client gets:
// always JSON, and never another outcome than the one that was observed.
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/json.h"
#include "base/utf8.h"
#include "outcome/output_capture.h"
#include "outcome/result_json.h"
#include "runner/guest_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace belljar;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    outcome::OutputCapture capture(Bytes{16});
    capture.append(text.substr(0, size / 3));
    capture.append(text.substr(size / 3));
    execution::RunResult result{.execution_id = "run",
                                .status = execution::Status::Error,
                                .exit_code = 1,
                                .stdout_stream = capture.finish()};
    BJ_ASSERT(result.stdout_stream.bytes == size);
    BJ_ASSERT(result.stdout_stream.truncated == (size > 16));

    runner::apply_guest_report(text, result);
    BJ_ASSERT(result.status == execution::Status::Error && result.exit_code == 1);
    BJ_ASSERT(result.execution_id == "run" && result.denials.empty());
    BJ_ASSERT(result.variables.size() <= 1000);

    const std::string record = to_text(outcome::to_json(result));
    BJ_ASSERT(is_valid_utf8(record));
    BJ_ASSERT(parse_json(record).has_value());
    return 0;
}
