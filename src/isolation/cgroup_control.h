#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

// The files of cgroup directories, read and written by descriptor.
namespace belljar::isolation {

[[nodiscard]] Result<Fd> open_cgroup(const std::string& path);
[[nodiscard]] Result<Fd> make_cgroup(const std::string& path);

// Held while a tree is made and while stale ones are looked for, so that nobody takes a tree for
// stale between its mkdir and its own lock.
[[nodiscard]] Result<Fd> lock_cgroup(const std::string& path);

[[nodiscard]] Result<void> write_control(const Fd& directory, const char* name,
                                         std::string_view value);
// Empty if there is no such file: kernels differ in which counters they have.
[[nodiscard]] std::string read_control(const Fd& directory, const char* name);
[[nodiscard]] std::uint64_t read_number(const Fd& directory, const char* name);
// The value of `key` in a file of "key value" lines.
[[nodiscard]] std::uint64_t read_keyed(const Fd& directory, const char* name, std::string_view key);
[[nodiscard]] std::vector<pid_t> read_processes(const Fd& directory);
[[nodiscard]] bool has_control(const Fd& directory, const char* name);

}  // namespace belljar::isolation
