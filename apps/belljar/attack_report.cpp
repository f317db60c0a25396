#include "attack_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <map>
#include <sstream>

#include "base/json.h"
#include "base/utf8.h"
#include "outcome/result_json.h"

namespace belljar::apps {
namespace {

constexpr std::array<Verdict, 4> kPrintedVerdicts{Verdict::Held, Verdict::Broken, Verdict::KnownGap,
                                                  Verdict::NotApplicable};

using Counts = std::map<Verdict, int>;

// --- a table with lines that are broken between words ---------------------------------------

std::vector<std::string> wrap(const std::string& text, std::size_t width) {
    std::vector<std::string> lines(1);
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        while (word.size() > width) {
            lines.push_back(word.substr(0, width));
            word.erase(0, width);
        }
        const bool fits = lines.back().size() + 1 + word.size() <= width;
        if (!fits && !lines.back().empty()) {
            lines.emplace_back();
        }
        lines.back() += lines.back().empty() ? word : " " + word;
    }
    return lines;
}

template <std::size_t Columns>
std::string render_row(const std::array<std::string, Columns>& cells,
                       const std::array<std::size_t, Columns>& widths) {
    std::array<std::vector<std::string>, Columns> wrapped;
    std::size_t height = 1;
    for (std::size_t column = 0; column < Columns; ++column) {
        wrapped[column] = wrap(cells[column], widths[column]);
        height = std::max(height, wrapped[column].size());
    }
    std::string text;
    for (std::size_t line = 0; line < height; ++line) {
        std::string row;
        for (std::size_t column = 0; column < Columns; ++column) {
            const bool there = line < wrapped[column].size();
            row += fmt::format("{:<{}}  ", there ? wrapped[column][line] : "", widths[column]);
        }
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + "\n";
    }
    return text;
}

// What a guest said may hold anything, also what a terminal would obey.
std::string printable(const std::string& text) {
    std::string shown = make_valid_utf8(text);
    std::ranges::replace_if(
        shown, [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }, ' ');
    return shown;
}

std::string shown_verdict(Verdict verdict) {
    return verdict == Verdict::Broken ? "BROKEN" : std::string(name_of(verdict));
}

// --- counting -------------------------------------------------------------------------------

Counts count(const std::vector<Finding>& findings, std::string_view kind) {
    Counts counts;
    for (const Finding& finding : findings) {
        if (kind.empty() || finding.attack->kind == kind) {
            ++counts[finding.verdict];
        }
    }
    return counts;
}

std::vector<std::string> kinds_of(const std::vector<Finding>& findings) {
    std::vector<std::string> kinds;
    for (const Finding& finding : findings) {
        if (std::ranges::find(kinds, finding.attack->kind) == kinds.end()) {
            kinds.push_back(finding.attack->kind);
        }
    }
    return kinds;
}

std::string describe(const Counts& counts) {
    std::vector<std::string> parts;
    for (const Verdict verdict : kPrintedVerdicts) {
        const auto entry = counts.find(verdict);
        if (entry != counts.end()) {
            parts.push_back(fmt::format("{} {}", entry->second, shown_verdict(verdict)));
        }
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

json::object to_json(const Counts& counts) {
    json::object object;
    for (const Verdict verdict : kPrintedVerdicts) {
        const auto entry = counts.find(verdict);
        object[name_of(verdict)] = entry == counts.end() ? 0 : entry->second;
    }
    return object;
}

json::object to_json(const Attack& attack) {
    return {{"name", attack.name},
            {"class", attack.kind},
            {"tries", attack.tries},
            {"expects", attack.expects},
            {"needs", json::array(attack.needs.begin(), attack.needs.end())},
            {"applicable", attack.not_applicable.empty()}};
}

}  // namespace

bool AttackReport::broken() const {
    return std::ranges::any_of(
        findings, [](const Finding& finding) { return finding.verdict == Verdict::Broken; });
}

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::Held:
            return "held";
        case Verdict::Broken:
            return "broken";
        case Verdict::KnownGap:
            return "known gap";
        case Verdict::NotApplicable:
            return "n-a";
    }
    return "broken";
}

std::string render_text(const AttackReport& report) {
    constexpr std::array<std::size_t, 5> kWidths{12, 36, 28, 32, 9};
    std::string text = render_row<5>({"CLASS", "ATTEMPT", "EXPECTED", "SEEN", "VERDICT"}, kWidths);
    for (const Finding& finding : report.findings) {
        const Attack& attack = *finding.attack;
        text +=
            render_row<5>({attack.kind, fmt::format("{}: {}", attack.name, attack.tries),
                           attack.expects, printable(finding.seen), shown_verdict(finding.verdict)},
                          kWidths);
    }
    text += "\n";
    for (const std::string& kind : kinds_of(report.findings)) {
        text += fmt::format("{:<12} {}\n", kind, describe(count(report.findings, kind)));
    }
    text += fmt::format("{:<12} {}\n\n", "all", describe(count(report.findings, "")));
    text += fmt::format("Isolation grade: {} (tier {}, mode {})\n", report.isolation.grade,
                        report.isolation.tier, report.mode);
    for (const std::string& layer : report.isolation.missing) {
        text += fmt::format("  missing: {}\n", layer);
    }
    return text;
}

std::string render_json(const AttackReport& report) {
    json::array attacks;
    for (const Finding& finding : report.findings) {
        json::object object = to_json(*finding.attack);
        object["verdict"] = name_of(finding.verdict);
        object["seen"] = make_valid_utf8(finding.seen);
        object["seconds"] = to_seconds(finding.wall);
        attacks.emplace_back(std::move(object));
    }
    json::object classes;
    for (const std::string& kind : kinds_of(report.findings)) {
        classes[kind] = to_json(count(report.findings, kind));
    }
    json::object summary = to_json(count(report.findings, ""));
    summary["classes"] = std::move(classes);
    return to_text(json::object{{"version", report.version},
                                {"mode", report.mode},
                                {"isolation", outcome::to_json(report.isolation)},
                                {"held", !report.broken()},
                                {"summary", std::move(summary)},
                                {"attacks", std::move(attacks)}}) +
           "\n";
}

std::string render_text(const std::vector<const Attack*>& attacks) {
    constexpr std::array<std::size_t, 4> kWidths{12, 24, 44, 36};
    std::string text = render_row<4>({"CLASS", "NAME", "ATTEMPT", "EXPECTED"}, kWidths);
    for (const Attack* attack : attacks) {
        const std::string remark = attack->not_applicable.empty()
                                       ? ""
                                       : " (not applicable: " + attack->not_applicable + ")";
        text += render_row<4>({attack->kind, attack->name, attack->tries, attack->expects + remark},
                              kWidths);
    }
    return text;
}

std::string render_json(const std::vector<const Attack*>& attacks) {
    json::array list;
    for (const Attack* attack : attacks) {
        json::object object = to_json(*attack);
        if (!attack->not_applicable.empty()) {
            object["not_applicable"] = attack->not_applicable;
        }
        list.emplace_back(std::move(object));
    }
    return to_text(json::object{{"attacks", std::move(list)}}) + "\n";
}

}  // namespace belljar::apps
