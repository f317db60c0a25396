#include "api/operation_table.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

using Found = OperationTable::Found;
using Nothing = OperationTable::Nothing;
using BadPath = OperationTable::BadPath;
using WrongMethod = OperationTable::WrongMethod;

class OperationTableTest : public testing::Test {
   protected:
    OperationTableTest() {
        for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
                 {"GET", "/v1/runs"},
                 {"POST", "/v1/runs"},
                 {"GET", "/v1/runs/{run}"},
                 {"GET", "/v1/runs/latest"},
                 {"GET", "/v1/rooms/{room}/files/{path...}"},
                 {"PUT", "/v1/rooms/{room}/files/{path...}"},
                 {"GET", "/v1/rooms/{room}/files"}}) {
            table.add({.id = method + path, .method = method, .path = path});
        }
    }

    std::string found(std::string_view method, std::string_view path) {
        OperationTable::Finding finding = table.find(method, path);
        const auto* operation = std::get_if<Found>(&finding);
        if (operation == nullptr) {
            return "";
        }
        values = operation->path_values;
        return operation->operation->id;
    }

    OperationTable table;
    std::map<std::string, std::string, std::less<>> values;
};

TEST_F(OperationTableTest, FindsByMethodAndPath) {
    EXPECT_EQ(found("GET", "/v1/runs"), "GET/v1/runs");
    EXPECT_EQ(found("HEAD", "/v1/runs"), "GET/v1/runs");
    EXPECT_EQ(found("POST", "/v1/runs"), "POST/v1/runs");
    EXPECT_TRUE(values.empty());
}

TEST_F(OperationTableTest, AFixedSegmentGoesBeforeAVariable) {
    EXPECT_EQ(found("GET", "/v1/runs/latest"), "GET/v1/runs/latest");
    EXPECT_EQ(found("GET", "/v1/runs/other"), "GET/v1/runs/{run}");
    EXPECT_EQ(values["run"], "other");
}

TEST_F(OperationTableTest, AVariableIsASegmentDecodedOnce) {
    EXPECT_EQ(found("GET", "/v1/runs/a%2Fb%20%252e"), "GET/v1/runs/{run}");
    EXPECT_EQ(values["run"], "a/b %2e");
    EXPECT_EQ(found("GET", "/v1/runs/"), "");
    EXPECT_EQ(found("GET", "/v1/runs/a/b"), "");
}

TEST_F(OperationTableTest, TheRestHasItsSlashes) {
    EXPECT_EQ(found("PUT", "/v1/rooms/r/files/a/b%20c.txt"), "PUT/v1/rooms/{room}/files/{path...}");
    EXPECT_EQ(values["room"], "r");
    EXPECT_EQ(values["path"], "a/b c.txt");
    EXPECT_EQ(found("GET", "/v1/rooms/r/files"), "GET/v1/rooms/{room}/files");
    EXPECT_EQ(found("GET", "/v1/rooms/r/files/"), "GET/v1/rooms/{room}/files/{path...}");
    EXPECT_EQ(values["path"], "");
    EXPECT_EQ(found("GET", "/v1/rooms/r/files/../x"), "GET/v1/rooms/{room}/files/{path...}");
    EXPECT_EQ(values["path"], "../x");  // whoever opens files refuses it
}

TEST_F(OperationTableTest, WhatCannotBeDecodedIsSaid) {
    for (const char* path : {"/v1/runs/%zz", "/v1/rooms/r/files/a%2fb", "/v1/rooms/r/files/%"}) {
        EXPECT_TRUE(std::holds_alternative<BadPath>(table.find("GET", path))) << path;
    }
}

TEST_F(OperationTableTest, TellsWhichMethodsThereAre) {
    const OperationTable::Finding finding = table.find("DELETE", "/v1/runs");
    ASSERT_TRUE(std::holds_alternative<WrongMethod>(finding));
    EXPECT_EQ(std::get<WrongMethod>(finding).allowed, "GET, HEAD, POST");
    EXPECT_TRUE(std::holds_alternative<Nothing>(table.find("GET", "/v1")));
    EXPECT_TRUE(std::holds_alternative<Nothing>(table.find("GET", "")));
}

TEST_F(OperationTableTest, TheSameTwiceIsAMistake) {
    EXPECT_THROW(table.add({.id = "other", .method = "GET", .path = "/v1/runs"}), std::logic_error);
    EXPECT_THROW(table.add({.id = "GET/v1/runs", .method = "GET", .path = "/x"}), std::logic_error);
}

}  // namespace
}  // namespace belljar::api
