#include "api/needed_rights.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

using access::allows;
using access::rights_of_role;
using access::scope_of;

std::string needed(std::string method, std::string path) {
    return scope_of(needed_rights({.method = std::move(method), .path = std::move(path)}));
}

TEST(NeededRights, AreThoseOfThePath) {
    EXPECT_EQ(needed("POST", "/execute"), "run:exec");
    EXPECT_EQ(needed("POST", "/v1/runs"), "run:exec");
    EXPECT_EQ(needed("POST", "/v1/runs:batch"), "run:exec");
    EXPECT_EQ(needed("GET", "/mcp/events"), "run:exec");
    EXPECT_EQ(needed("GET", "/v1/runs/7/output"), "files:read");
    EXPECT_EQ(needed("GET", "/v1/runs/7/output/stdout"), "files:read");
    EXPECT_EQ(needed("POST", "/v1/sessions"), "run:exec sessions");
    EXPECT_EQ(needed("GET", "/v1/sessions"), "sessions");
    EXPECT_EQ(needed("DELETE", "/v1/sessions/7"), "sessions");
    EXPECT_EQ(needed("POST", "/v1/sessions/7/undo"), "sessions");
    EXPECT_EQ(needed("GET", "/metrics"), "metrics:read");
}

TEST(NeededRights, AreNoneForWhatEverybodyMayKnow) {
    EXPECT_EQ(needed("GET", "/health"), "");
    EXPECT_EQ(needed("GET", "/ready"), "");
    EXPECT_EQ(needed("GET", "/v1/runners"), "");
    EXPECT_EQ(needed("GET", "/nothing"), "");
}

TEST(NeededRights, TheRolesHaveWhatTheirWorkTakes) {
    const auto may = [](std::string_view role, std::string method, std::string path) {
        return allows(*rights_of_role(role),
                      needed_rights({.method = std::move(method), .path = std::move(path)}));
    };
    EXPECT_TRUE(may("user", "POST", "/execute"));
    EXPECT_TRUE(may("user", "POST", "/v1/sessions"));
    EXPECT_FALSE(may("user", "GET", "/metrics"));
    EXPECT_TRUE(may("operator", "GET", "/metrics"));
    EXPECT_TRUE(may("operator", "POST", "/execute"));
    EXPECT_TRUE(may("auditor", "GET", "/metrics"));
    EXPECT_FALSE(may("auditor", "POST", "/execute"));
    EXPECT_FALSE(may("auditor", "GET", "/v1/runs/7/output"));
    EXPECT_TRUE(may("admin", "POST", "/execute"));
}

}  // namespace
}  // namespace belljar::api
