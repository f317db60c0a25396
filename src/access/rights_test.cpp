#include "access/rights.h"

#include <gtest/gtest.h>

#include <set>

namespace belljar::access {
namespace {

TEST(Rights, HaveOneNameEach) {
    std::set<std::string_view> names;
    for (const Right right : kAllRights) {
        EXPECT_EQ(parse_right(name_of(right)), right) << name_of(right);
        names.insert(name_of(right));
    }
    EXPECT_EQ(names.size(), kRightCount);
    for (const std::string_view name : {"", "run", "RUN:EXEC", "run:exec ", "all", "*"}) {
        EXPECT_FALSE(parse_right(name)) << name;
    }
}

TEST(Rights, AreNoneUnlessGiven) {
    const Rights none;
    EXPECT_TRUE(none.empty());
    for (const Right right : kAllRights) {
        EXPECT_FALSE(allows(none, right)) << name_of(right);
        EXPECT_TRUE(allows(Rights::all(), right)) << name_of(right);
        EXPECT_TRUE(allows(Rights{Right::Admin}, right)) << name_of(right);
    }
    EXPECT_TRUE(allows(none, Rights{}));
}

TEST(Rights, SayWhatIsMissing) {
    const Rights reader{Right::FilesRead};
    const Rights needed{Right::FilesRead, Right::RunExec, Right::Sessions};
    EXPECT_FALSE(allows(reader, needed));
    EXPECT_EQ(reader.missing(needed), (Rights{Right::RunExec, Right::Sessions}));
    EXPECT_EQ(scope_of(reader.missing(needed)), "run:exec sessions");
}

TEST(Rights, ComeFromAScope) {
    EXPECT_EQ(rights_of_scope("run:exec files:read"), (Rights{Right::RunExec, Right::FilesRead}));
    EXPECT_EQ(rights_of_scope("  run:exec   run:exec "), Rights{Right::RunExec});
    EXPECT_EQ(rights_of_scope("admin"), Rights::all());
    for (const std::string_view scope : {"", " ", "openid profile", "Run:Exec", "run:exec,admin"}) {
        EXPECT_TRUE(rights_of_scope(scope).empty()) << scope;
    }
    EXPECT_EQ(rights_of_scope(scope_of(Rights::all())), Rights::all());
}

TEST(Roles, AreFour) {
    EXPECT_EQ(rights_of_role("admin"), Rights::all());
    const Rights user = rights_of_role("user").value();
    const Rights runs_operator = rights_of_role("operator").value();
    const Rights auditor = rights_of_role("auditor").value();
    EXPECT_TRUE(allows(user, Right::RunExec));
    EXPECT_FALSE(allows(user, Right::MetricsRead));
    EXPECT_TRUE(allows(runs_operator, user));
    EXPECT_TRUE(allows(runs_operator, Right::Operate));
    EXPECT_FALSE(allows(runs_operator, Right::AuditRead));
    EXPECT_FALSE(allows(runs_operator, Right::Admin));
    EXPECT_EQ(auditor, (Rights{Right::MetricsRead, Right::AuditRead}));
    for (const std::string_view role : {"", "Admin", "root", "log-analysis"}) {
        EXPECT_FALSE(rights_of_role(role)) << role;
    }
}

TEST(Roles, AddUp) {
    Caller caller{.rights = {}};
    for (const std::string_view role : {"user", "auditor", "log-analysis", "no role", ""}) {
        add_role(caller, role);
    }
    EXPECT_TRUE(allows(caller.rights, Rights{Right::RunExec, Right::AuditRead}));
    EXPECT_FALSE(allows(caller.rights, Right::Operate));
    EXPECT_EQ(caller.tool_sets, std::vector<std::string>{"log-analysis"});
}

TEST(ToolSets, HavePlainNames) {
    EXPECT_TRUE(is_tool_set_name("log-analysis"));
    EXPECT_TRUE(is_tool_set_name(std::string(64, 'a')));
    EXPECT_FALSE(is_tool_set_name(std::string(65, 'a')));
    for (const std::string_view name : {"", "a b", "a:b", "a/b", "\xc3\xa4", "a\n"}) {
        EXPECT_FALSE(is_tool_set_name(name)) << name;
    }
}

}  // namespace
}  // namespace belljar::access
