#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "config/load.h"

namespace belljar::apps {

// What `belljar admin` is asked to do.
struct AdminOptions {
    std::string url{};         // empty: where the configuration lets the server listen
    std::string token_file{};  // empty: BELLJAR_TOKEN, or the token in the data directory
    std::string id{};          // of a run, a session or a token
    std::string principal{};
    std::string state = "running";
    std::string drain{};
    std::string from{};
    std::string to{};
    std::vector<std::string> roles{};
    std::string expires{};
    std::vector<std::string> limits{};  // name=number
    std::string idle{};
    std::string age{};
    std::string space{};
    std::string time{};          // of a block
    std::string reason{};        // of a block or a quarantine
    std::string conversation{};  // of a quarantine
    bool remove = false;
    bool json = false;
};

// Adds the command with everything below it.
void add_admin(CLI::App& app, AdminOptions& options, std::string& data_directory);

// Talks to a running server. The exit code of the program.
int administer(const CLI::App& app, const config::Loaded& loaded, const AdminOptions& options);

}  // namespace belljar::apps
