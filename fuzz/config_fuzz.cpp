// Any bytes as a configuration file: settings or an error with a message, never a crash.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "config/load.h"
#include "config/show.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace belljar;
    const config::LoadInputs inputs{
        .file_path = "belljar.toml",
        .file_text = std::string(reinterpret_cast<const char*>(data), size)};
    const Result<config::Loaded> loaded = config::load(inputs);
    if (loaded) {
        BJ_ASSERT(!config::render(*loaded).empty());
    } else {
        BJ_ASSERT(loaded.error().code == ErrorCode::InvalidArgument);
        BJ_ASSERT(!loaded.error().message.empty());
    }
    return 0;
}
