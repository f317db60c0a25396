#include "runner/runners.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "runner/embedded_files.h"

namespace belljar::runner {
namespace {

constexpr std::string_view kManifests = "runners/";

bool has_name(const Manifest& manifest, std::string_view name) {
    const auto& aliases = manifest.aliases;
    return manifest.language == name || std::ranges::find(aliases, name) != aliases.end();
}

std::size_t profile_of(const Manifest& manifest) {
    return (manifest.proc == ProcView::Masked ? 1U : 0U) +
           (manifest.write_execute == WriteExecute::Allowed ? 2U : 0U);
}

std::array<ManifestPtr, 4> make_launchers() {
    std::array<ManifestPtr, 4> launchers;
    for (const ProcView proc : {ProcView::ProcessesOnly, ProcView::Masked}) {
        for (const WriteExecute right : {WriteExecute::Denied, WriteExecute::Allowed}) {
            Manifest manifest{
                .language = "launcher",
                .ready = proc == ProcView::ProcessesOnly && right == WriteExecute::Denied ? 1 : 0,
                .proc = proc,
                .write_execute = right};
            manifest.language += proc == ProcView::Masked ? "_masked" : "";
            manifest.language += right == WriteExecute::Allowed ? "_write_execute" : "";
            const std::size_t profile = profile_of(manifest);
            launchers[profile] = std::make_shared<const Manifest>(std::move(manifest));
        }
    }
    return launchers;
}

}  // namespace

Result<Runners> Runners::create() {
    Runners runners;
    runners.launchers_ = make_launchers();
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path.starts_with(kManifests)) {
            BJ_TRY(Manifest manifest, parse_manifest(file.path, file.content));
            BJ_TRY_VOID(runners.put(std::make_shared<const Manifest>(std::move(manifest))));
        }
    }
    std::vector<ManifestPtr> sorted;
    for (const Need need : {Need::Required, Need::Optional}) {
        std::ranges::copy_if(
            runners.manifests_, std::back_inserter(sorted),
            [need](const ManifestPtr& manifest) { return manifest->need == need; });
    }
    runners.manifests_ = std::move(sorted);
    return runners;
}

Result<void> Runners::put(ManifestPtr manifest) {
    std::vector<std::string> names = manifest->aliases;
    names.push_back(manifest->language);
    for (const ManifestPtr& other : manifests_) {
        for (const std::string& name : names) {
            if (other->language != manifest->language && has_name(*other, name)) {
                return fail(ErrorCode::Conflict,
                            fmt::format("\"{}\" is a name of {} already", name, other->language));
            }
        }
    }
    const auto place = std::ranges::find_if(manifests_, [&](const ManifestPtr& other) {
        return other->language == manifest->language;
    });
    if (place == manifests_.end()) {
        manifests_.push_back(std::move(manifest));
    } else {
        *place = std::move(manifest);
    }
    return {};
}

void Runners::dismiss_specialists() {
    for (ManifestPtr& manifest : manifests_) {
        if (manifest->specialist) {
            auto alone = std::make_shared<Manifest>(*manifest);
            alone->specialist.reset();
            manifest = std::move(alone);
        }
    }
}

ManifestPtr Runners::find(std::string_view language) const {
    const std::string wanted = to_lower(language);
    for (const ManifestPtr& manifest : manifests_) {
        if (has_name(*manifest, wanted)) {
            return manifest;
        }
    }
    return nullptr;
}

ManifestPtr Runners::jar_of(const ManifestPtr& manifest) const {
    return manifest->has_launcher() ? launchers_[profile_of(*manifest)] : manifest;
}

}  // namespace belljar::runner
