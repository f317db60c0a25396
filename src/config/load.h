#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/environment.h"
#include "config/origin.h"
#include "config/schema.h"
#include "config/settings.h"

namespace belljar::config {

struct FlagValue {
    std::string text{};
    std::string flag{};  // as the operator wrote it: "--listen"
};

// Everything settings are made from; nothing else is looked at.
struct LoadInputs {
    // The file; without it BELLJAR_CONFIG of the environment names one, or there is none.
    std::optional<std::string> file_path{};
    // What the file contains, if it need not be read.
    std::optional<std::string> file_text{};
    Environment environment{};
    std::map<std::string, FlagValue> flags{};  // by key: "server.listen"
};

// One line of what is in force.
struct Entry {
    const Key* key = nullptr;
    std::string text{};  // "(set)" for a secret
    Origin origin{};
};

struct Loaded {
    Settings settings{};
    std::vector<Entry> entries{};  // every key, in the order of the schema
    LoadInputs inputs{};           // to load again from

    // `key` must be in the schema.
    [[nodiscard]] const Origin& origin_of(std::string_view key) const;
};

// Flags win over BELLJAR_SECTION_KEY, these over the aliases, these over the file, and the file
// over the defaults. Fails with InvalidArgument and one line per problem; the message may name the
// file, as it is for the operator and never for a client.
[[nodiscard]] Result<Loaded> load(const LoadInputs& inputs);

}  // namespace belljar::config
