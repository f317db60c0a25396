#include "mcp/text_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/utf8.h"
#include "execution/error_wire.h"
#include "mcp/output_content.h"
#include "mcp/revision.h"

namespace belljar::mcp {
namespace {

using execution::CapturedStream;
using execution::OutputForm;
using execution::RunResult;
using execution::Status;

// Of each stream, for a model; what is more costs it more than it tells.
constexpr std::size_t kCompactStream = std::size_t{32} * 1024;

// Parts joined by exactly one line break; a part that ends with one needs no other.
class Lines {
   public:
    void add(std::string_view part) {
        if (part.empty()) {
            return;
        }
        if (!text_.empty() && text_.back() != '\n') {
            text_ += '\n';
        }
        text_ += part;
    }

    [[nodiscard]] bool empty() const { return text_.empty(); }
    [[nodiscard]] std::string take() { return std::move(text_); }

   private:
    std::string text_;
};

std::string error_line(const execution::GuestError& error) {
    std::string line = error.type;
    if (!error.message.empty()) {
        line += (line.empty() ? "" : ": ") + error.message;
    }
    if (error.line) {
        line += fmt::format(" (line {})", *error.line);
    }
    return line;
}

// Whether the last thing on stderr is this error, as interpreters show it.
bool has_said(const CapturedStream& stream, const execution::GuestError& error) {
    constexpr std::size_t kEnd = 4096;
    const std::string_view text = stream.text;
    const std::string_view end = text.substr(text.size() - std::min(text.size(), kEnd));
    return !error.type.empty() && error.message.size() < kEnd / 2 && end.contains(error.type) &&
           end.contains(error.message);
}

void add_stream(Lines& lines, std::string_view name, std::string_view text, OutputForm form) {
    if (form == OutputForm::Full || text.size() <= kCompactStream) {
        lines.add(text);
        return;
    }
    lines.add(cut_middle(text, kCompactStream));
    lines.add(fmt::format("[{} is shown in part: print less, or pass output: \"full\"]", name));
}

std::string denial_line(const execution::Denial& denial) {
    const bool told = denial.source == execution::DenialSource::Guest;
    std::string line =
        fmt::format("Denied{}: {}", told ? ", as the program tells" : "", denial.what);
    if (!denial.rule.empty()) {
        line += fmt::format(" (rule {})", denial.rule);
    }
    line += '.';
    if (!denial.hint.empty()) {
        line += ' ' + denial.hint;
    }
    return line;
}

void add_truncation(Lines& lines, std::string_view name, const CapturedStream& stream) {
    if (stream.truncated) {
        lines.add(
            fmt::format("[{} was cut: the beginning and the end of {} bytes are shown; print "
                        "less, or only the part you need]",
                        name, stream.bytes));
    }
}

void add_whole_output(Lines& lines, const std::optional<std::string>& uri) {
    if (uri) {
        lines.add(fmt::format("[the whole output is kept at {}]", *uri));
    }
}

void add_report_notes(Lines& lines, const RunResult& result) {
    if (result.report == execution::Report::Damaged) {
        lines.add(
            "[values and outputs are missing: what the program wrote to descriptors that it did "
            "not open, or its end, has damaged their report]");
    }
    if (result.outputs_omitted > 0) {
        lines.add(
            fmt::format("[{} representations of outputs were left out: too many, too large or not "
                        "of their type]",
                        result.outputs_omitted));
    }
}

void add_files(Lines& lines, const std::vector<execution::ProducedFile>& files) {
    std::vector<std::string> written;
    std::vector<std::string> deleted;
    for (const execution::ProducedFile& file : files) {
        if (is_there(file)) {
            written.push_back(fmt::format("{} ({} bytes)", file.name, file.size));
        } else {
            deleted.push_back(file.name);
        }
    }
    if (!written.empty()) {
        lines.add(fmt::format("Files written: {}", fmt::join(written, ", ")));
    }
    if (!deleted.empty()) {
        lines.add(fmt::format("Files deleted: {}", fmt::join(deleted, ", ")));
    }
}

std::string exit_line(const RunResult& result) {
    if (result.signal) {
        return fmt::format("[error] The program was ended by signal {}.", *result.signal);
    }
    return fmt::format("[error] The program ended with exit code {}.",
                       result.exit_code.value_or(1));
}

std::string runner_line(const engine::SandboxInfo::Runner& runner) {
    std::string line = fmt::format("- {}", runner.language);
    if (!runner.version.empty()) {
        line += ' ' + runner.version;
    }
    if (!runner.aliases.empty()) {
        line += fmt::format(" (also {})", fmt::join(runner.aliases, ", "));
    }
    return line;
}

std::string limits_line(std::string_view name, const execution::Limits& limits) {
    return fmt::format("{}: {:g} s, {} memory, {} processes, {} inline per output stream", name,
                       to_seconds(limits.timeout), format_bytes(limits.memory), limits.processes,
                       format_bytes(limits.output));
}

}  // namespace

std::string status_line(const RunResult& result) {
    switch (result.status) {
        case Status::Ok:
            return "";
        case Status::Error:
            return exit_line(result);
        case Status::Timeout:
            return fmt::format(
                "[timeout] Stopped at its time limit after {:.1f} s. Do less work, or "
                "pass a larger timeout.",
                to_seconds(result.usage.wall));
        case Status::Memory:
            return "[memory] Stopped because it used more memory than allowed. Work in smaller "
                   "pieces, or pass a larger memory_limit.";
        case Status::Processes:
            return "[processes] The limit on processes and threads was reached. Start fewer.";
        case Status::Disk:
            return "[disk] The space for files was used up. Write less, or delete what is not "
                   "needed.";
        case Status::Output:
            return "[output] Stopped because it wrote far too much output. Print less.";
        case Status::Killed:
            return fmt::format("[killed] The program was ended by signal {}.",
                               result.signal.value_or(9));
        case Status::Denied:
            return "[denied] Refused by policy. Change the program as the reason above says.";
        case Status::Cancelled:
            return "[cancelled] Stopped because the request was cancelled.";
    }
    return "";
}

std::string cut_middle(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) {
        return std::string(text);
    }
    const auto is_inside = [text](std::size_t at) {
        return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
    };
    std::size_t end = limit / 2;
    std::size_t from = text.size() - limit / 2;
    for (; end > 0 && is_inside(end); --end) {
    }
    for (; is_inside(from); ++from) {
    }
    return fmt::format("{}\n... {} bytes ...\n{}", text.substr(0, end), from - end,
                       text.substr(from));
}

std::string text_view(const RunResult& result, OutputForm form) {
    Lines lines;
    add_stream(lines, "stdout", result.stdout_stream.text, form);
    if (!result.stderr_stream.text.empty()) {
        lines.add("[stderr]");
        add_stream(lines, "stderr", result.stderr_stream.text, form);
    }
    if (result.error &&
        (form == OutputForm::Full || !has_said(result.stderr_stream, *result.error))) {
        lines.add(error_line(*result.error));
    }
    if (result.result_repr) {
        lines.add("=> " + *result.result_repr);
    }
    for (const execution::Denial& denial : result.denials) {
        lines.add(denial_line(denial));
    }
    add_files(lines, result.files);
    add_truncation(lines, "stdout", result.stdout_stream);
    add_truncation(lines, "stderr", result.stderr_stream);
    add_whole_output(lines, result.full_output);
    add_report_notes(lines, result);
    for (const execution::Finding& finding : result.findings) {
        if (finding.action >= execution::ScanAction::Warn) {
            lines.add(fmt::format("[policy warns] line {}: {} ({}).", finding.line, finding.text,
                                  finding.rule));
        }
    }
    for (const execution::CappedLimit& limit : result.capped) {
        lines.add(fmt::format("[capped] {}: {} asked, {} given.", limit.argument, limit.asked,
                              limit.given));
    }
    lines.add(status_line(result));
    if (result.session && result.session_id) {
        lines.add(fmt::format("[session {}, cell {}]", *result.session_id, result.session->cell));
        for (const std::string& note : result.session->notes) {
            lines.add(fmt::format("[{}]", note));
        }
    }
    return lines.empty() ? "(no output)" : make_valid_utf8(lines.take());
}

std::string text_view(const engine::BatchResult& result) {
    Lines lines;
    std::size_t number = 0;
    for (const engine::BatchElement& element : result) {
        const auto* ran = std::get_if<RunResult>(&element);
        const auto* error = std::get_if<Error>(&element);
        const std::string_view state = ran != nullptr     ? execution::name_of(ran->status)
                                       : error != nullptr ? "refused"
                                                          : "skipped";
        lines.add(fmt::format("[{} of {}: {}]", ++number, result.size(), state));
        if (ran != nullptr) {
            lines.add(text_view(*ran));
        } else if (error != nullptr) {
            lines.add(execution::client_message(*error));
        }
    }
    return make_valid_utf8(lines.take());
}

std::string text_view(const engine::SandboxInfo& info) {
    Lines lines;
    lines.add(fmt::format("Belljar {}", info.version));
    lines.add("Languages:");
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (runner.usable) {
            lines.add(runner_line(runner));
        }
    }
    lines.add(limits_line("Default limits", info.default_limits));
    lines.add(limits_line("Largest limits", info.maximum_limits));
    lines.add(
        fmt::format("Isolation: grade {}, tier {}", info.isolation.grade, info.isolation.tier));
    if (!info.isolation.missing.empty()) {
        lines.add(fmt::format("Isolation layers missing on this host: {}",
                              fmt::join(info.isolation.missing, ", ")));
    }
    lines.add("Network: none");
    lines.add(fmt::format("Protocol versions: {}", revision_names()));
    return make_valid_utf8(lines.take());
}

std::string runners_view(const engine::SandboxInfo& info) {
    Lines lines;
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        lines.add(runner.usable
                      ? runner_line(runner)
                      : fmt::format("- {}: not usable: {}", runner.language, runner.reason));
    }
    return make_valid_utf8(lines.take());
}

}  // namespace belljar::mcp
