#pragma once

#include <string>
#include <string_view>

#include "execution/request.h"
#include "jar/launch_request.h"
#include "runner/manifest.h"

namespace belljar::runner {

// The same manifest with the path that was detected in its commands.
[[nodiscard]] ManifestPtr with_program(const ManifestPtr& manifest, const std::string& program);

// The same, but whatever the code is, what runs is the command that tells the version.
[[nodiscard]] ManifestPtr version_of(const ManifestPtr& manifest);

// What the launcher of a jar does for a program of a language without a bootstrap.
[[nodiscard]] jar::LaunchRequest launch_of(const Manifest& manifest,
                                           const execution::RunRequest& request);

// What a guest reads as its request: a LaunchRequest, or what its bootstrap understands.
[[nodiscard]] std::string encode_request(const Manifest& manifest,
                                         const execution::RunRequest& request,
                                         std::string_view mark);

// The version in what that command wrote, which may be anything: the first word of its first line
// after the manifest's prefix, at most 64 bytes of it.
[[nodiscard]] std::string version_in(const Manifest& manifest, std::string_view output);

}  // namespace belljar::runner
