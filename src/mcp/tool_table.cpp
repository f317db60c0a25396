#include "mcp/tool_table.h"

#include <algorithm>
#include <array>

#include "mcp/dialect_code_runner.h"
#include "mcp/dialect_log_analysis.h"
#include "mcp/dialect_log_execute.h"
#include "mcp/dialect_sandbox_service.h"
#include "mcp/tools_execute.h"
#include "mcp/tools_files.h"
#include "mcp/tools_info.h"
#include "mcp/tools_search.h"
#include "mcp/tools_session.h"
#include "mcp/tools_validate.h"

namespace belljar::mcp {
namespace {

using enum Dialect;
using enum Need;
using enum Checked;

constexpr std::array kTools = std::to_array<Tool>({
    {"execute_code", Own, RunOrCell, ByTool, define_execute_code, execute_code},
    {"execute_batch", Own, RunOrCell, ByTool, define_execute_batch, execute_batch},
    {"manage_session", Own, Sessions, ByTool, define_manage_session, manage_session},
    {"validate_code", Own, Run, BySchema, define_validate_code, validate_code},
    {"list_files", Own, FilesRead, BySchema, define_list_files, list_files},
    {"read_file", Own, FilesRead, BySchema, define_read_file, read_file},
    {"write_file", Own, FilesWrite, BySchema, define_write_file, write_file},
    {"search_tools", Own, Run, BySchema, define_search_tools, search_tools},
    {"pip_install", Own, Packages, BySchema, define_pip_install, pip_install},
    {"get_sandbox_info", Own, Inspect, BySchema, define_get_sandbox_info, get_sandbox_info},

    {"execute_python", SandboxService, Run, BySchema, define_execute_python, execute_python},

    {"sandbox.run_code", CodeRunner, Run, BySchema, define_sandbox_run_code, sandbox_run_code},
    {"sandbox.list_runners", CodeRunner, Inspect, BySchema, define_sandbox_list_runners,
     list_runners},
    {"run_code", CodeRunner, Run, BySchema, define_run_code, run_code},
    {"list_runners", CodeRunner, Inspect, BySchema, define_list_runners, list_runners},
    {"upload_file", CodeRunner, FilesWrite, BySchema, define_upload_file, upload_file},

    {"log_analysis.execute_code", LogAnalysis, RunOrCell, ByTool, define_execute_for_logs,
     execute_for_logs},
    {"log_analysis.search_tools", LogAnalysis, Run, BySchema, define_search_for_logs,
     search_for_logs},
    {"log_store", LogAnalysis, Run, BySchema, define_log_store, call_module},
    {"privacy", LogAnalysis, Run, BySchema, define_privacy, call_module},
    {"workspace", LogAnalysis, Run, BySchema, define_workspace, call_module},
    {"get_workspace_info", LogAnalysis, Run, BySchema, define_get_workspace_info, call_module},
    {"skills", LogAnalysis, Run, BySchema, define_skills, call_module},
    {"list_skills", LogAnalysis, Run, BySchema, define_list_skills, call_module},
    {"run_skill", LogAnalysis, Run, BySchema, define_run_skill, call_module},
    {"tool_discovery", LogAnalysis, Run, BySchema, define_tool_discovery, call_module},
    {"list_available_tools", LogAnalysis, Run, BySchema, define_list_available_tools, call_module},
    {"get_available_tools", LogAnalysis, Run, BySchema, define_get_available_tools, call_module},
});

}  // namespace

std::span<const Tool> all_tools() { return kTools; }

const Tool* find_tool(std::string_view name) {
    const auto* found = std::ranges::find(kTools, name, &Tool::name);
    return found != kTools.end() ? &*found : nullptr;
}

std::vector<Dialect> parse_dialects(const std::vector<std::string>& names) {
    struct Name {
        std::string_view name;
        Dialect dialect;
    };
    constexpr std::array<Name, 3> kNames{{{"sandbox-service", SandboxService},
                                          {"code-runner", CodeRunner},
                                          {"log-analysis", LogAnalysis}}};
    std::vector<Dialect> dialects;
    for (const Name& known : kNames) {
        if (std::ranges::find(names, known.name) != names.end()) {
            dialects.push_back(known.dialect);
        }
    }
    return dialects;
}

}  // namespace belljar::mcp
