// Bytes -> what a guest wrote into its report and its output, up to the record that a client gets:
// always JSON, and never another outcome than the one that was observed.
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/json.h"
#include "base/utf8.h"
#include "outcome/output_capture.h"
#include "outcome/result_json.h"
#include "outcome/verdict.h"
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

    runner::apply_guest_report({.text = text}, result);
    BJ_ASSERT(result.status == execution::Status::Error && result.exit_code == 1);
    BJ_ASSERT(result.execution_id == "run" && result.denials.empty());
    BJ_ASSERT(result.variables.size() <= 1000);

    // Whatever it says was refused is its own word only, short and without control characters.
    outcome::judge({.exited = true, .wait_status = 1 << 8}, {}, result);
    BJ_ASSERT(result.status == execution::Status::Error && result.exit_code == 1);
    BJ_ASSERT(result.denials.size() <= 1);
    for (const execution::Denial& denial : result.denials) {
        BJ_ASSERT(denial.source == execution::DenialSource::Guest);
        BJ_ASSERT(denial.what.size() < 300 && is_valid_utf8(denial.what));
        BJ_ASSERT(std::ranges::none_of(denial.what, [](unsigned char c) { return c < ' '; }));
    }

    const std::string record = to_text(outcome::to_json(result));
    BJ_ASSERT(is_valid_utf8(record));
    BJ_ASSERT(parse_json(record).has_value());
    return 0;
}
