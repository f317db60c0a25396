#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string>
#include <vector>

#include "attack_processes.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace belljar::apps {

// What attacks are out for, laid out on this host as bait, and whether they got any of it: files
// that no jar may read, a secret in the server's memory and environment, sockets that nobody may
// reach, files that nobody may change, processes that must live on. Removed with the object.
class Outside {
   public:
    // A secret for this process to hold, put into its environment too. Before the warden starts.
    static std::string plant_secret();

    // Once privileges are dropped, so that the bait can be removed again.
    static Result<std::unique_ptr<Outside>> create(std::string secret);
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

    // What an attacker is told, so that it need not guess: names, paths and ports, never contents.
    [[nodiscard]] json::object told() const;
    // What became of the bait; `said` is everything that the attack has put out.
    [[nodiscard]] std::vector<std::string> find_damage(const std::string& said);
    // The processes that are there now and were not at the beginning: those in jars.
    [[nodiscard]] std::vector<ProcessEntry> list_jar_processes() const;

   private:
    struct SharedFile {
        std::string path;
        std::string content;
    };
    struct Listener {
        std::string name;
        Fd socket;
    };

    explicit Outside(std::string secret);
    Result<void> make_flags();
    Result<void> listen_abstract();
    Result<void> listen_path();
    Result<void> listen_loopback();
    void remember_shared_files();
    [[nodiscard]] std::string find_lost_process() const;
    [[nodiscard]] bool flag_is_as_made(const std::string& path) const;

    std::string secret_;
    std::string flag_;
    std::string token_;  // part of every name below
    std::string folder_;
    std::vector<std::string> flag_files_;
    std::vector<Listener> listeners_;
    std::uint16_t tcp_port_ = 0;
    std::uint16_t udp_port_ = 0;
    std::vector<SharedFile> shared_files_;
    std::vector<ProcessEntry> own_processes_;
};

}  // namespace belljar::apps
