#pragma once

#include <cstddef>

// What this library allocates comes from a region of its own, and from malloc() only when that is
// used up. A zygote that wrote to the heap between two forks would take the large pages apart that
// its guests inherit.
namespace belljar::zygote {

// Until it ends, everything allocated after its beginning must have been freed, or be forgotten.
class MemoryMark {
   public:
    MemoryMark();
    ~MemoryMark();
    MemoryMark(const MemoryMark&) = delete;
    MemoryMark& operator=(const MemoryMark&) = delete;

   private:
    std::size_t used_;
};

}  // namespace belljar::zygote
