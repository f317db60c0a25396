#pragma once

// toml++ as all of Belljar has it: what it defines inline must be the same wherever it is included.
//
// Version 3.3 asserts conditions that bad input violates, with NDEBUG it even lets the compiler
// assume them; the code behind them reports the error correctly once both are off.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 8
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
