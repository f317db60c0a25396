#include "storage/staged_file.h"

#include <unistd.h>

namespace belljar::storage {

StagedFile& StagedFile::operator=(StagedFile&& other) noexcept {
    if (this != &other) {
        drop();
        directory_ = std::move(other.directory_);
        name_ = std::exchange(other.name_, {});
        file_ = std::move(other.file_);
    }
    return *this;
}

void StagedFile::drop() {
    if (!name_.empty() && directory_.valid()) {
        ::unlinkat(directory_.get(), name_.c_str(), 0);
        name_.clear();
    }
}

}  // namespace belljar::storage
