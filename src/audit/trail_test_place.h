#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "audit/trail_place.h"
#include "audit/verification.h"
#include "audit/writer.h"
#include "base/fd.h"

namespace belljar::audit {

// A directory of its own for each test, with what tests do to the files in it.
class TrailTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "audit-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        directory = open_directory(place);
    }
    void TearDown() override { std::filesystem::remove_all(place); }

    static Fd open_directory(const std::filesystem::path& path) {
        return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }

    [[nodiscard]] std::unique_ptr<Writer> open_writer(Writer::Bounds bounds = {}) const {
        Result<std::unique_ptr<Writer>> writer = Writer::open(directory, bounds);
        EXPECT_TRUE(writer) << writer.error().describe();
        return std::move(*writer);
    }

    static Entry entry(const std::string& principal, const std::string& text = "some text") {
        return {.kind = "run",
                .body = {{"execution_id", "id of " + principal}, {"status", "ok"}},
                .personal = {{"principal", principal}, {"code", text}}};
    }

    [[nodiscard]] VerificationReport verify() const {
        Result<VerificationReport> report = verify_trail(directory);
        EXPECT_TRUE(report) << report.error().describe();
        return report ? std::move(*report) : VerificationReport{};
    }
    // "" if it is whole.
    [[nodiscard]] std::string fault() const {
        const VerificationReport report = verify();
        return report.fault ? report.fault->file + ": " + report.fault->why : "";
    }

    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream file(place / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(place / name, std::ios::binary | std::ios::trunc) << text;
    }
    [[nodiscard]] std::vector<std::string> lines(std::uint64_t number) const {
        std::vector<std::string> found;
        std::ifstream file(place / trail_name(number));
        for (std::string line; std::getline(file, line);) {
            found.push_back(line);
        }
        return found;
    }
    void write_lines(std::uint64_t number, const std::vector<std::string>& all) const {
        std::string text;
        for (const std::string& line : all) {
            text += line + "\n";
        }
        write(trail_name(number), text);
    }

    std::filesystem::path place;
    Fd directory;
};

}  // namespace belljar::audit
