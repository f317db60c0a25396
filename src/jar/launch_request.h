#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace belljar::jar {

// What the launcher of a jar is to do: write files, compile, execute. Made by the server from a
// runner's manifest and a request, read inside the jar with the guest's own rights.
struct LaunchRequest {
    struct File {
        std::string path{};  // below the workspace
        std::string content{};

        bool operator==(const File&) const = default;
    };

    std::vector<std::string> compile{};  // none: nothing is compiled
    Duration compile_time{};
    Bytes compile_memory{};  // of each process of the compiler
    std::vector<std::string> run{};
    std::vector<std::string> arguments{};    // of the program, after those of `run`
    std::vector<std::string> environment{};  // NAME=value
    std::vector<File> files{};               // later ones replace earlier ones

    bool operator==(const LaunchRequest&) const = default;
};

// Numbers of fixed width and texts with their length before them.
[[nodiscard]] std::string encode(const LaunchRequest& request);
// Exactly one request and nothing after it.
[[nodiscard]] Result<LaunchRequest> decode_launch_request(std::string_view data);

}  // namespace belljar::jar
