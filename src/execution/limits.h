#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"

namespace belljar::execution {

// What one run may use. The kernel enforces each of these; defaults are the product's own.
struct Limits {
    Duration timeout = std::chrono::seconds(30);
    Bytes memory = mebibytes(256);
    // Share of a core that the jar keeps when others compete; idle cores may be used beyond it.
    double cpu = 0.5;
    std::uint32_t processes = 64;
    Bytes output = mebibytes(1);         // given per stream in the result
    Bytes output_file = mebibytes(64);   // kept per stream in a file, if it is more than that
    Bytes output_flood = mebibytes(64);  // written per stream before the run is ended
    Bytes tmp = mebibytes(64);
    Bytes workspace = gibibytes(1);

    bool operator==(const Limits&) const = default;
};

// A limit of which less was given than was asked for, each as JSON in the argument's own form.
struct CappedLimit {
    std::string argument{};
    std::string asked{};
    std::string given{};

    bool operator==(const CappedLimit&) const = default;
};

}  // namespace belljar::execution
