#include "jar/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/utf8.h"
#include "jar/launch_request.h"
#include "jar/local_paths.h"

namespace belljar::jar {
namespace {

constexpr Bytes kLargestRequest = gibibytes(1);
constexpr std::size_t kShownOutput = 64 * 1024;
constexpr std::size_t kShownLine = 300;

int number_of(GuestFd fd) { return static_cast<int>(fd); }

// --- the report

std::string quoted(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string result = "\"";
    for (const char letter : make_valid_utf8(text)) {
        const auto byte = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            result += {'\\', letter};
        } else if (byte < 0x20) {
            result += "\\u00";
            result += {kDigits[byte >> 4U], kDigits[byte & 15U]};
        } else {
            result += letter;
        }
    }
    return result + '"';
}

struct Failure {
    std::string_view type;
    std::string message;
    std::optional<std::string> output{};
};

[[noreturn]] void end_with(const Failure& failure) {
    std::string report =
        "{\"error\":{\"type\":" + quoted(failure.type) + ",\"message\":" + quoted(failure.message);
    if (failure.output) {
        report += ",\"traceback\":" + quoted(failure.output->substr(0, kShownOutput));
    }
    report += "}}";
    const Fd pipe(number_of(GuestFd::Report));
    [[maybe_unused]] const Result<void> written = write_all(pipe, report);
    ::_exit(1);
}

[[noreturn]] void end_with(const Error& error) {
    end_with({.type = "StartError", .message = error.describe()});
}

template <typename Value>
Value value_or_end(Result<Value> result) {
    if (!result) {
        end_with(result.error());
    }
    return std::move(*result);
}

void succeed_or_end(const Result<void>& result) {
    if (!result) {
        end_with(result.error());
    }
}

// --- files

Result<Fd> open_directory(const Fd& parent, const std::string& name) {
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(system_error("mkdir " + name));
    }
    Fd directory(
        ::openat(parent.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.valid()) {
        return fail(system_error("open " + name));
    }
    return directory;
}

// One name after the other, so that no link leads elsewhere.
Result<void> write_file(const LaunchRequest::File& file) {
    Fd directory(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::string_view rest = file.path;
    while (true) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        const std::string name(rest.substr(0, end));
        if (name.empty() || name == "." || name == ".." || name.find('\0') != std::string::npos) {
            return fail(ErrorCode::InvalidArgument, "a path that is not below the workspace");
        }
        if (end < rest.size()) {
            BJ_TRY(directory, open_directory(directory, name));
            rest.remove_prefix(end + 1);
            continue;
        }
        constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
        const Fd place(::openat(directory.get(), name.c_str(), kFlags, 0644));
        if (!place.valid()) {
            return fail(system_error("create " + name));
        }
        return write_all(place, file.content);
    }
}

// --- processes

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (const std::string& text : strings) {
        result.push_back(const_cast<char*>(text.c_str()));
    }
    result.push_back(nullptr);
    return result;
}

void execute(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    const std::vector<char*> arguments = pointers(command);
    const std::vector<char*> variables = pointers(environment);
    ::execve(arguments[0], arguments.data(), variables.data());
}

std::string cannot_execute(const std::string& program) {
    return program + " could not be executed: " + std::strerror(errno);
}

void limit_memory(Bytes memory) {
    rlimit limit{};
    ::getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, memory.count);
    limit.rlim_max = limit.rlim_cur;
    ::setrlimit(RLIMIT_DATA, &limit);
}

struct CompilerEnd {
    std::optional<int> status{};  // as wait(2) gives it; none: it ran out of time
    std::string output{};         // its beginning
};

// Reads what there is; false at the end.
bool read_output(const Fd& pipe, std::string& output) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(pipe.get(), buffer.data(), buffer.size());
    if (count > 0) {
        const std::size_t room = kShownOutput - std::min(kShownOutput, output.size());
        output.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
    }
    return count > 0;
}

// Until the compiler itself has ended: what it leaves behind is not waited for.
CompilerEnd await_compiler(pid_t compiler, const Fd& signals, Fd output, TimePoint deadline) {
    CompilerEnd end;
    int status = 0;
    while (::waitpid(compiler, &status, WNOHANG) == 0) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0) {
            ::kill(-compiler, SIGKILL);
            ::waitpid(compiler, &status, 0);
            return end;
        }
        std::array<pollfd, 2> entries{
            {{.fd = signals.get(), .events = POLLIN, .revents = 0},
             {.fd = output.valid() ? output.get() : -1, .events = POLLIN, .revents = 0}}};
        ::poll(entries.data(), entries.size(),
               static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
        if (entries[1].revents != 0 && !read_output(output, end.output)) {
            output.reset();
        }
        if (entries[0].revents != 0) {
            signalfd_siginfo ignored{};
            [[maybe_unused]] const ssize_t taken = ::read(signals.get(), &ignored, sizeof(ignored));
        }
    }
    if (output.valid()) {
        ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
        while (end.output.size() < kShownOutput && read_output(output, end.output)) {
        }
    }
    end.status = status;
    return end;
}

[[noreturn]] void become_compiler(const LaunchRequest& request, const Fd& input, const Fd& output) {
    ::setpgid(0, 0);
    ::dup2(input.get(), STDIN_FILENO);
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(output.get(), STDERR_FILENO);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (request.compile_memory.count > 0) {
        limit_memory(request.compile_memory);
    }
    execute(request.compile, request.environment);
    const Fd complaint(STDERR_FILENO);
    [[maybe_unused]] const Result<void> told =
        write_all(complaint, cannot_execute(request.compile.front()) + "\n");
    ::_exit(127);
}

Result<CompilerEnd> run_compiler(const LaunchRequest& request) {
    BJ_TRY(Pipe nothing, make_pipe());
    nothing.write_end.reset();
    BJ_TRY(Pipe output, make_pipe());
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &children, &before);
    const Fd signals(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    const TimePoint deadline = Clock::now() + request.compile_time;
    const pid_t compiler = signals.valid() ? ::fork() : -1;
    if (compiler < 0) {
        return fail(system_error("start the compiler"));
    }
    if (compiler == 0) {
        become_compiler(request, nothing.read_end, output.write_end);
    }
    ::setpgid(compiler, compiler);
    output.write_end.reset();
    CompilerEnd end = await_compiler(compiler, signals, std::move(output.read_end), deadline);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return end;
}

// The line that says what is wrong: the first that speaks of an error, else the first of all.
std::string telling_line(std::string_view output) {
    std::string first;
    while (!output.empty()) {
        const std::size_t end = std::min(output.find('\n'), output.size());
        const std::string line(output.substr(0, std::min(end, kShownLine)));
        if (line.find("error") != std::string::npos) {
            return ": " + line;
        }
        if (first.empty() && !line.empty()) {
            first = ": " + line;
        }
        output.remove_prefix(std::min(end + 1, output.size()));
    }
    return first;
}

std::string tenths(Duration duration) {
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    const std::string part = count % 1000 == 0 ? "" : "." + std::to_string(count % 1000 / 100);
    return std::to_string(count / 1000) + part;
}

std::string describe(const CompilerEnd& end, Duration allowed) {
    if (!end.status) {
        return "the compiler did not end within " + tenths(allowed) + " seconds";
    }
    if (WIFSIGNALED(*end.status)) {
        return "the compiler was ended by signal " + std::to_string(WTERMSIG(*end.status)) +
               telling_line(end.output);
    }
    return "the compiler ended with exit code " + std::to_string(WEXITSTATUS(*end.status)) +
           telling_line(end.output);
}

void compile(const LaunchRequest& request) {
    CompilerEnd end = value_or_end(run_compiler(request));
    if (end.status == 0) {
        return;
    }
    const Fd complaint(STDERR_FILENO);
    [[maybe_unused]] const Result<void> told = write_all(complaint, end.output);
    end_with({.type = "CompileError",
              .message = describe(end, request.compile_time),
              .output = std::move(end.output)});
}

// --- the whole

void translate(LaunchRequest& request, const LocalPaths& paths) {
    for (std::vector<std::string>* command : {&request.compile, &request.run}) {
        for (std::string& part : *command) {
            part = paths.translate(part);
        }
    }
    for (std::string& variable : request.environment) {
        variable = paths.translate_variable(variable);
    }
}

// What no program may have: the sockets of init, and on exec what is ours.
void close_descriptors() {
    ::syscall(SYS_close_range, static_cast<unsigned>(kGuestFdCount), ~0U, 0);
    ::close(number_of(GuestFd::Program));
    ::fcntl(number_of(GuestFd::Request), F_SETFD, FD_CLOEXEC);
    ::fcntl(number_of(GuestFd::Report), F_SETFD, FD_CLOEXEC);
}

LaunchRequest await_request() {
    const Fd pipe(number_of(GuestFd::Request));
    if (::write(number_of(GuestFd::Report), "\n", 1) != 1) {
        ::_exit(1);
    }
    const std::string text = value_or_end(read_all(pipe, kLargestRequest));
    return value_or_end(decode_launch_request(text));
}

}  // namespace

void become_launcher(WorkspaceKind workspace) {
    close_descriptors();
    // What a compiler starts must not look into this process, which still has the report's pipe.
    ::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
    LaunchRequest request = await_request();
    translate(request, LocalPaths(workspace));
    for (const LaunchRequest::File& file : request.files) {
        succeed_or_end(write_file(file));
    }
    if (!request.compile.empty()) {
        compile(request);
    }
    std::ranges::move(request.arguments, std::back_inserter(request.run));
    execute(request.run, request.environment);
    end_with({.type = "StartError", .message = cannot_execute(request.run.front())});
}

}  // namespace belljar::jar
