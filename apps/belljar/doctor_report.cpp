#include "doctor_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "doctor_layers.h"
#include "outcome/result_json.h"

namespace belljar::apps {
namespace {

enum class Colours { Off, On };

constexpr std::size_t kNameWidth = 17;

Colours colours_of_terminal() {
    const char* refused = std::getenv("NO_COLOR");
    const bool wanted = refused == nullptr || *refused == '\0';
    return wanted && ::isatty(STDOUT_FILENO) == 1 ? Colours::On : Colours::Off;
}

std::string_view colour_of(Health health) {
    switch (health) {
        case Health::Good:
            return "\x1b[32m";
        case Health::Weak:
            return "\x1b[33m";
        case Health::Bad:
            return "\x1b[31m";
        case Health::Info:
            return "\x1b[2m";
    }
    return "";
}

std::string painted(std::string_view text, std::string_view colour, Colours colours) {
    return colours == Colours::On ? fmt::format("{}{}\x1b[0m", colour, text) : std::string(text);
}

void print_check(const Check& check, Colours colours) {
    const std::string status = fmt::format("{:<5}", name_of(check.health));
    fmt::print("  {}{:<{}} {}\n", painted(status, colour_of(check.health), colours), check.name,
               kNameWidth, check.found);
    if (!check.fix.empty()) {
        fmt::print("  {:<{}} fix: {}\n", "", kNameWidth + 5, check.fix);
    }
}

void print_text(const DoctorReport& report, Colours colours) {
    for (const CheckGroup& group : report.groups) {
        fmt::print("{}\n", painted(group.name, "\x1b[1m", colours));
        for (const Check& check : group.checks) {
            print_check(check, colours);
        }
        fmt::print("\n");
    }
    fmt::print("Launch mode: {}\n", report.mode);
    fmt::print("Isolation grade: {}\n", report.isolation.grade);
    for (const std::string& layer : report.isolation.missing) {
        const std::string_view check = check_of_layer(layer);
        fmt::print("  missing: {}{}\n", layer,
                   check.empty() ? "" : fmt::format(" (see \"{}\")", check));
    }
}

// What was found holds names of the host: paths, releases, variables. JSON takes only UTF-8.
json::object to_json(const std::string& group, const Check& check) {
    return {{"group", group},
            {"check", check.name},
            {"status", name_of(check.health)},
            {"found", make_valid_utf8(check.found)},
            {"fix", make_valid_utf8(check.fix)}};
}

void print_json(const DoctorReport& report) {
    json::array checks;
    for (const CheckGroup& group : report.groups) {
        for (const Check& check : group.checks) {
            checks.emplace_back(to_json(group.name, check));
        }
    }
    fmt::print("{}\n",
               belljar::to_text(json::object{{"isolation", outcome::to_json(report.isolation)},
                                             {"mode", report.mode},
                                             {"checks", std::move(checks)}}));
}

}  // namespace

std::string_view name_of(Health health) {
    switch (health) {
        case Health::Good:
            return "ok";
        case Health::Weak:
            return "weak";
        case Health::Bad:
            return "bad";
        case Health::Info:
            return "info";
    }
    return "bad";
}

void print_report(const DoctorReport& report, OutputForm form) {
    if (form == OutputForm::Json) {
        print_json(report);
    } else {
        print_text(report, colours_of_terminal());
    }
}

}  // namespace belljar::apps
