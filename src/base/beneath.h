#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

// Files below a directory whose content somebody else has chosen.
namespace belljar {

inline constexpr std::size_t kLongestPath = 1024;
inline constexpr std::size_t kDeepestPath = 32;  // names in it

// A relative path in valid UTF-8 without control characters: no empty, "." or ".." name, none over
// 255 bytes, and not too many.
[[nodiscard]] bool is_plain_path(std::string_view path);

// Opens by openat2: no link is followed, on no name of the path, and nothing leads out of `root`.
// Never blocks on what is no regular file. `flags` without O_CLOEXEC, which is always set.
[[nodiscard]] Result<Fd> open_beneath(const Fd& root, const std::string& path, int flags,
                                      mode_t mode = 0);

// The directory that the path's last name is in, made where it is missing, and that name.
struct Place {
    Fd directory;
    std::string name;
};
enum class Parents { Expected, Made };
[[nodiscard]] Result<Place> find_place(const Fd& root, std::string_view path, Parents parents);

}  // namespace belljar
