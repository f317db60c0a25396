#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor_check.h"

namespace belljar::apps {

// The name of the check that explains why jars lack a layer of `isolation.missing`; empty for a
// layer that no check explains.
[[nodiscard]] std::string_view check_of_layer(std::string_view layer);

// A check that found nothing wrong becomes weak if the jar lacks its layer all the same: what a jar
// has counts, not what the host seems to offer.
void weaken_missing_layers(const std::vector<std::string>& missing,
                           std::vector<CheckGroup>& groups);

}  // namespace belljar::apps
