#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "config/load.h"

namespace belljar::apps {

// What was typed after `belljar audit`.
struct AuditOptions {
    std::string principal{};
    std::string execution_id{};
    std::string conversation_id{};
    std::string tool{};
    std::string status{};
    std::string kind{};
    std::string since{};
    std::string until{};
    std::uint64_t limit = 50;
    std::string format = "jsonl";
    std::string public_key{};  // a file
    std::string reason{};
    bool json = false;
};

void add_audit(CLI::App& app, AuditOptions& options, std::string& data_directory);

// The exit code: 0, 1 if the trail is broken or something failed, 2 if it was asked for wrongly.
int examine_trail(const CLI::App& app, const config::Loaded& loaded, const AuditOptions& options);

}  // namespace belljar::apps
