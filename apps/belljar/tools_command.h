#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "config/load.h"

namespace belljar::apps {

// What `belljar tools` is asked to do.
struct ToolOptions {
    std::string path{};   // instead of tools.path
    std::string owner{};  // of what a new manifest lists for the first time
    bool json = false;
};

// Adds the command with everything below it.
void add_tools(CLI::App& app, ToolOptions& options);

// The exit code of the program: 0 if everything that is there is served.
int manage_tools(const CLI::App& app, const config::Loaded& loaded, const ToolOptions& options);

}  // namespace belljar::apps
