#include "storage/directory_names.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>

#include "base/beneath.h"

namespace belljar::storage {

std::vector<std::string> names_in(const Fd& directory) {
    std::vector<std::string> names;
    Result<Fd> copy = open_beneath(directory, ".", O_RDONLY | O_DIRECTORY);
    DIR* const opened = copy ? ::fdopendir(copy->get()) : nullptr;
    if (opened == nullptr) {
        return names;
    }
    [[maybe_unused]] const int owned = copy->release();
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, ::closedir);
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name(static_cast<const char*>(entry->d_name));
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    return names;
}

bool is_hash(std::string_view name) {
    return name.size() == 64 &&
           name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace belljar::storage
