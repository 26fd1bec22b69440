#include "gateway/policies/members.h"

#include "gateway/routes/example_routes_test.h"

namespace hekla::gateway {
namespace {

framework::AnyObject binding(const std::string& ns, const std::string& name,
                             const std::string& subjects) {
  return object_of(R"({"metadata":{"name":")" + name + R"(","namespace":")" + ns +
                   R"("},"subjects":)" + subjects + "}");
}

class MembersTest : public testing::Test {
 protected:
  MembersTest() {
    members.read(binding("a", "namespaceAdmin", R"([{"kind":"User","name":"ann"}])"));
    members.read(binding("a", "default-editor",
                         R"([{"kind":"ServiceAccount","name":"default-editor","namespace":"a"}])"));
  }
  Members members;
};

TEST_F(MembersTest, TheOwnerOfAProfileIsAlone) {
  EXPECT_TRUE(members.is_sole("ann", "a"));
  EXPECT_FALSE(members.is_sole("bob", "a"));
  EXPECT_FALSE(members.is_sole("ann", "b"));  // where nobody is, nobody is alone
}

TEST_F(MembersTest, WhoeverElseIsBoundIsAMember) {
  for (const char* subject :
       {R"({"kind":"User","name":"bob"})", R"({"kind":"Group","name":"team"})",
        R"({"kind":"ServiceAccount","name":"default-editor","namespace":"b"})",
        R"({"kind":"User","name":"system:serviceaccount:b:default"})"}) {
    members.read(binding("a", "other", std::string("[") + subject + "]"));
    EXPECT_FALSE(members.is_sole("ann", "a")) << subject;
    members.forget({"a", "other"});
    EXPECT_TRUE(members.is_sole("ann", "a"));
  }
  members.read(binding("a", "own", R"([{"kind":"Group","name":"system:serviceaccounts:a"}])"));
  members.read(binding("b", "other", R"([{"kind":"User","name":"bob"}])"));
  EXPECT_TRUE(members.is_sole("ann", "a"));
}

}  // namespace
}  // namespace hekla::gateway
