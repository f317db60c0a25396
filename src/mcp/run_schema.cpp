#include "mcp/run_schema.h"

#include <fmt/format.h>

#include "engine/run_schema.h"
#include "mcp/tool_schemas.h"
#include "outcome/result_schema.h"

namespace belljar::mcp {

json::object run_input_schema(const engine::SandboxInfo& info) {
    json::object input = engine::run_arguments_schema();
    describe_member(input, "language", fmt::format("One of: {}.", language_names(info)));
    describe_member(input, "timeout",
                    fmt::format("Seconds of running time, {:g} by default, at most {:g}.",
                                to_seconds(info.default_limits.timeout),
                                to_seconds(info.maximum_limits.timeout)));
    describe_member(
        input, "memory_limit",
        fmt::format("A size such as \"64m\" or \"1g\"; \"{}\" by default, at most \"{}\".",
                    format_bytes(info.default_limits.memory),
                    format_bytes(info.maximum_limits.memory)));
    describe_member(
        input, "cpu",
        fmt::format("Cores that the program keeps when others compete, {:g} by default, at "
                    "most {:g}; idle cores may be used beyond it.",
                    info.default_limits.cpu, info.maximum_limits.cpu));
    describe_member(input, "processes",
                    fmt::format("Processes and threads alive at once, {} by default, at most {}.",
                                info.default_limits.processes, info.maximum_limits.processes));
    describe_member(
        input, "max_output",
        fmt::format("Size of each output stream in the result, such as \"64k\"; \"{}\" by "
                    "default, at most \"{}\". More is cut in the middle.",
                    format_bytes(info.default_limits.output),
                    format_bytes(info.maximum_limits.output)));
    return input;
}

json::object run_output_schema() { return outcome::result_schema(); }

}  // namespace belljar::mcp
