#pragma once

#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/id.h"
#include "cgroup/jar_cgroup.h"

namespace belljar::cgroup {

// What a keeper prepares, for tests: a directory in each hierarchy, in which jars are made. It is
// locked as a keeper's is, so that nobody takes it for one that was left behind.
class TestCgroups {
   public:
    explicit TestCgroups(const std::vector<Hierarchy>& layout = read_layout()) {
        // In the order in which a process joins them.
        for (const bool unified : {true, false}) {
            for (const Hierarchy& hierarchy : layout) {
                if (hierarchy.unified == unified) {
                    add(hierarchy);
                }
            }
        }
    }
    TestCgroups(const TestCgroups&) = delete;
    TestCgroups& operator=(const TestCgroups&) = delete;
    ~TestCgroups() { EXPECT_TRUE(remove()); }

    [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
    [[nodiscard]] JarCgroups jars() const { return JarCgroups(paths_); }

    // Ends what is left in them. False if something does not go.
    [[nodiscard]] bool remove() {
        while (!paths_.empty()) {
            const auto removed = [this] { return try_remove(paths_.back()); };
            if (!becomes_true(removed, std::chrono::seconds(20))) {
                return false;
            }
            paths_.pop_back();
            locks_.pop_back();
        }
        return true;
    }

   private:
    // A hierarchy that cannot be used is left out; what jars lack without it shows in their layers.
    void add(const Hierarchy& hierarchy) {
        // Only the top of version 2 hands controllers down while it holds processes.
        const std::string& place =
            hierarchy.unified ? hierarchy.mount_point : hierarchy.own_directory;
        std::string path;
        Fd lock;
        // Who looks for what was left behind may find it before it is locked.
        for (int attempt = 0; attempt < 10 && !lock.valid(); ++attempt) {
            path = place + "/belljar-" + random_hex(8);
            lock = make_and_lock(path);
        }
        if (!lock.valid()) {
            return;
        }
        for (const std::string& name : hierarchy.controllers) {
            for (const std::string& giver : {place, path}) {
                [[maybe_unused]] const Result<void> given =
                    write_control(giver + "/cgroup.subtree_control", "+" + name);
            }
        }
        paths_.push_back(path);
        locks_.push_back(std::move(lock));
    }

    static Fd make_and_lock(const std::string& path) {
        Result<Fd> made = make_cgroup(path);
        const bool locked =
            made && ::flock(made->get(), LOCK_EX | LOCK_NB) == 0 && has_control(path);
        return locked ? std::move(*made) : Fd();
    }

    static bool try_remove(const std::string& path) {
        std::error_code gone;
        for (const auto& entry : std::filesystem::directory_iterator(path, gone)) {
            const std::string& child = entry.path().native();
            if (entry.is_directory(gone) && ::rmdir(child.c_str()) != 0) {
                [[maybe_unused]] const bool ended = kill_processes(child);
            }
        }
        return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
    }

    std::vector<std::string> paths_;
    std::vector<Fd> locks_;
};

}  // namespace belljar::cgroup
