#include "approved/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/beneath.h"
#include "base/fd.h"
#include "crypto/digest.h"

namespace belljar::approved {
namespace {

constexpr const char* kManifest = "manifest.toml";
// Where a ConfigMap has its files: a link to the directory of one version.
constexpr const char* kVersion = "..data";
constexpr std::size_t kMostFiles = 4000;
constexpr std::size_t kDeepest = 8;
// Names that an interpreter or the package of all tools has for itself.
constexpr auto kReserved = std::to_array<std::string_view>(
    {"tools", "main", "__init__", "__main__", "sitecustomize", "usercustomize"});

struct Problem {
    std::string reason{};
    std::string text{};
};

// Links are followed as long as they stay below `root`.
Fd open_in(const Fd& root, const std::string& path, int flags) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    return Fd(
        static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
}

Problem problem_of(int error) {
    switch (error) {
        case ENOENT:
            return {.reason = "missing", .text = "the manifest lists it, but it is not there"};
        case EXDEV:
        case ELOOP:
            return {.reason = "link", .text = "it is a link that leads out of the directory"};
        default:
            return {.reason = "unreadable", .text = "it cannot be read by the server's user"};
    }
}

// The content, or why there is none.
Result<std::string> read_regular(const Fd& file, Bytes limit, Problem& problem) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        problem = {.reason = "special", .text = "it is not a file"};
        return fail(ErrorCode::Denied, problem.text);
    }
    if (static_cast<std::uint64_t>(status.st_size) > limit.count) {
        problem = {.reason = "too_large",
                   .text = fmt::format("it has more than {}", format_bytes(limit))};
        return fail(ErrorCode::TooLarge, problem.text);
    }
    Result<std::string> text = read_all(file, limit);
    if (!text) {
        problem = {.reason = "unreadable", .text = "it cannot be read, or grows while it is read"};
    }
    return text;
}

Result<std::string> read_in(const Fd& root, const std::string& path, Bytes limit,
                            Problem& problem) {
    const Fd file = open_in(root, path, O_RDONLY);
    if (!file.valid()) {
        problem = problem_of(errno);
        return fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Denied, problem.text);
    }
    return read_regular(file, limit, problem);
}

Result<Fd> open_root(const std::string& path) {
    Fd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) {
        return fail(ErrorCode::NotFound, system_error("it cannot be opened").describe());
    }
    // One version and not what is swapped meanwhile.
    Fd version = open_in(root, kVersion, O_RDONLY | O_DIRECTORY);
    return version.valid() ? std::move(version) : std::move(root);
}

// Every file below `directory` that is no secret of the version control, as a path.
void list_files(const Fd& root, const std::string& below, std::size_t depth,
                std::set<std::string>& found) {
    const Fd directory = open_in(root, below.empty() ? "." : below, O_RDONLY | O_DIRECTORY);
    const int copy = directory.valid() ? ::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0) : -1;
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(copy), ::closedir);
    while (const dirent* entry = list == nullptr ? nullptr : ::readdir(list.get())) {
        const std::string name = entry->d_name;
        if (name.starts_with('.') || name == "__pycache__" || found.size() >= kMostFiles) {
            continue;
        }
        const std::string path = below.empty() ? name : below + "/" + name;
        if (entry->d_type == DT_DIR) {
            if (depth < kDeepest) {
                list_files(root, path, depth + 1, found);
            }
        } else {
            found.insert(path);
        }
    }
}

Result<std::vector<Approval>> read_manifest(const Fd& root, const Source& source) {
    Problem problem;
    Result<std::string> text = std::string();
    if (source.manifest.empty()) {
        text = read_in(root, kManifest, kLargestManifest, problem);
        if (!text && text.error().code == ErrorCode::NotFound) {
            return std::vector<Approval>{};
        }
    } else {
        const Fd file(::open(source.manifest.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        text = file.valid() ? read_regular(file, kLargestManifest, problem)
                            : fail(ErrorCode::NotFound, problem_of(EACCES).text);
    }
    if (!text) {
        return fail(ErrorCode::InvalidArgument, "the manifest: " + text.error().message);
    }
    Result<std::vector<Approval>> approvals = parse_manifest(kManifest, *text);
    if (!approvals) {
        return fail(ErrorCode::InvalidArgument, "the manifest: " + approvals.error().message);
    }
    return approvals;
}

class Reading {
   public:
    Reading(const Fd& root, const Source& source) : root_(root), source_(source) {}

    void take(const Approval& approval) {
        Problem problem;
        Result<std::string> content = read_in(root_, approval.file, kLargestModule, problem);
        if (!content) {
            refuse(approval.file, problem);
            return;
        }
        Module module{.approval = approval, .content = std::move(*content)};
        const std::string digest = crypto::sha256_hex(module.content);
        if (digest != approval.sha256) {
            if (source_.unlisted == config::Unlisted::Refuse) {
                refuse(approval.file,
                       {.reason = "changed", .text = "its content is not what was approved"});
                return;
            }
            module.approval.sha256 = digest;
        }
        add(std::move(module));
    }

    void take_unlisted(const std::string& file) {
        if (source_.unlisted == config::Unlisted::Serve && is_servable_name(file)) {
            Problem problem;
            Result<std::string> content = read_in(root_, file, kLargestModule, problem);
            if (!content) {
                refuse(file, problem);
                return;
            }
            add({.approval = {.file = file, .sha256 = crypto::sha256_hex(*content)},
                 .content = std::move(*content)});
            return;
        }
        refuse(file, {.reason = "unlisted", .text = "no manifest lists it"});
    }

    Collection finish() {
        crypto::Sha256 digest;
        for (const Module& module : collection_.modules) {
            digest.add(write_manifest({module.approval}));
        }
        for (const Refusal& refusal : collection_.refusals) {
            digest.add(refusal.file + '\0' + refusal.reason + '\0');
        }
        collection_.digest = digest.finish();
        return std::move(collection_);
    }

   private:
    void add(Module module) {
        const std::string name = module_name(module.approval.file);
        if (std::ranges::find(kReserved, name.substr(0, name.find('.'))) != kReserved.end()) {
            refuse(module.approval.file,
                   {.reason = "shadows", .text = "its name is taken: " + name});
            return;
        }
        size_ += module.content.size();
        if (size_ > kLargestCollection.count) {
            refuse(module.approval.file, {.reason = "too_large",
                                          .text = fmt::format("all together have more than {}",
                                                              format_bytes(kLargestCollection))});
            return;
        }
        collection_.modules.push_back(std::move(module));
    }

    void refuse(const std::string& file, const Problem& problem) {
        collection_.refusals.push_back(
            {.file = file, .reason = problem.reason, .text = problem.text});
    }

    const Fd& root_;
    const Source& source_;
    Collection collection_;
    std::uint64_t size_ = 0;
};

}  // namespace

Result<Collection> read_collection(const Source& source) {
    BJ_TRY(const Fd root, open_root(source.path));
    BJ_TRY(const std::vector<Approval> approvals, read_manifest(root, source));
    Reading reading(root, source);
    std::set<std::string> unlisted;
    list_files(root, "", 0, unlisted);
    for (const Approval& approval : approvals) {
        unlisted.erase(approval.file);
        reading.take(approval);
    }
    for (const std::string& file : unlisted) {
        if (file.ends_with(".py")) {
            reading.take_unlisted(file);
        }
    }
    return reading.finish();
}

Result<std::vector<Approval>> draft_manifest(const Source& source, const std::string& owner) {
    BJ_TRY(const Fd root, open_root(source.path));
    BJ_TRY(const std::vector<Approval> known, read_manifest(root, source));
    std::set<std::string> files;
    list_files(root, "", 0, files);
    std::map<std::string, Approval> drafts;
    for (const Approval& approval : known) {
        drafts[approval.file] = approval;
    }
    for (const std::string& file : files) {
        if (file.ends_with(".py") && is_servable_name(file) && !drafts.contains(file)) {
            drafts[file] = {.file = file, .owner = owner, .version = "1.0.0"};
        }
    }
    std::vector<Approval> approvals;
    for (auto& [file, approval] : drafts) {
        Problem problem;
        const Result<std::string> content = read_in(root, file, kLargestModule, problem);
        if (!content && problem.reason == "missing") {
            continue;
        }
        if (!content) {
            return fail(ErrorCode::Denied, fmt::format("{}: {}", file, problem.text));
        }
        approval.sha256 = crypto::sha256_hex(*content);
        approvals.push_back(std::move(approval));
    }
    return approvals;
}

std::vector<std::string> watched_places(const Source& source) {
    std::vector<std::string> places{source.path};
    if (const std::size_t slash = source.manifest.rfind('/'); slash != std::string::npos) {
        places.push_back(slash == 0 ? "/" : source.manifest.substr(0, slash));
    }
    std::set<std::string> folders;
    if (const Result<Fd> root = open_root(source.path)) {
        std::set<std::string> files;
        list_files(*root, "", 0, files);
        for (const std::string& file : files) {
            if (const std::size_t slash = file.rfind('/'); slash != std::string::npos) {
                folders.insert(source.path + "/" + file.substr(0, slash));
            }
        }
    }
    places.insert(places.end(), folders.begin(), folders.end());
    return places;
}

}  // namespace belljar::approved
