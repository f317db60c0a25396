#pragma once

#include <string>
#include <vector>

#include "commands.h"
#include "doctor_check.h"
#include "execution/result.h"

namespace belljar::apps {

struct DoctorReport {
    execution::Isolation isolation{};
    std::string mode{};
    std::vector<CheckGroup> groups{};
};

// On standard output; with colours if that is a terminal and NO_COLOR is not set.
void print_report(const DoctorReport& report, OutputForm form);

}  // namespace belljar::apps
