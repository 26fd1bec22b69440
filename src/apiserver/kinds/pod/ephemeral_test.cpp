#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class EphemeralTest : public ServerFixture {
 protected:
  EphemeralTest() { call("POST", kPods, pod("p")); }
  Reply add(const std::string& container) {
    return call("PATCH", kPath, R"({"spec":{"ephemeralContainers":[)" + container + "]}}",
                {{"Content-Type", "application/strategic-merge-patch+json"}});
  }
  static constexpr const char* kPath = "/api/v1/namespaces/default/pods/p/ephemeralcontainers";
};

TEST_F(EphemeralTest, AreAddedAndNeverChanged) {
  Reply added = add(R"({"name":"d","image":"i","targetContainerName":"c"})");
  EXPECT_EQ(added.status, 200) << added.text;
  const json::Array* list = json::array_at(added.body, {"spec", "ephemeralContainers"});
  ASSERT_TRUE(list && list->size() == 1);
  EXPECT_EQ(json::string_at(list->at(0), {"terminationMessagePath"}), "/dev/termination-log");
  EXPECT_EQ(add(R"({"name":"e","image":"i"})").status, 200);
  Reply changed = add(R"({"name":"d","image":"other"})");
  EXPECT_EQ(changed.status, 422);
  EXPECT_NE(changed.message().find("existing ephemeral containers \"d\" may not be changed"),
            std::string::npos)
      << changed.message();
  // Not by way of the pod itself: that is another permission.
  Reply direct = call("PATCH", std::string(kPods) + "/p",
                      R"({"spec":{"ephemeralContainers":[{"name":"f","image":"i"}]}})",
                      {{"Content-Type", "application/strategic-merge-patch+json"}});
  EXPECT_EQ(direct.status, 422) << direct.text;
}

TEST_F(EphemeralTest, AreNotCreatedWithThePod) {
  Reply made =
      call("POST", kPods, pod("q", R"(,"ephemeralContainers":[{"name":"d","image":"i"}])"));
  EXPECT_EQ(made.status, 422);
  EXPECT_EQ(made.message(),
            "Pod \"q\" is invalid: spec.ephemeralContainers: Forbidden: cannot be set on create");
}

TEST_F(EphemeralTest, AreChecked) {
  EXPECT_NE(add(R"({"name":"c","image":"i"})").message().find("Duplicate value: \"c\""),
            std::string::npos);
  EXPECT_NE(add(R"({"name":"d","image":"i","targetContainerName":"z"})")
                .message()
                .find("Not found: \"z\""),
            std::string::npos);
  EXPECT_NE(add(R"({"name":"d"})").message().find("image: Required value"), std::string::npos);
  EXPECT_NE(add(R"({"name":"d","image":"i","ports":[{"containerPort":1}]})")
                .message()
                .find("cannot be set for an Ephemeral Container"),
            std::string::npos);
}

TEST_F(EphemeralTest, OldKubectlReadsAndWritesAList) {
  const std::vector<std::pair<std::string, std::string>> old{{"User-Agent", "kubectl/v1.20.2"}};
  Reply read = call("GET", kPath, "", old);
  EXPECT_EQ(read.at({"kind"}), "EphemeralContainers");
  Reply written = call("PUT", kPath,
                       R"({"kind":"EphemeralContainers","apiVersion":"v1","metadata":{"name":"p"},
                           "ephemeralContainers":[{"name":"d","image":"i"}]})",
                       old);
  EXPECT_EQ(written.status, 200) << written.text;
  EXPECT_EQ(written.at({"kind"}), "EphemeralContainers");
  Reply seen = call("GET", kPath);
  EXPECT_EQ(seen.at({"kind"}), "Pod");
  EXPECT_EQ(json::array_at(seen.body, {"spec", "ephemeralContainers"})->size(), 1u);
  EXPECT_EQ(json::array_at(seen.body, {"spec", "containers"})->size(), 1u);
}

}  // namespace
}  // namespace hekla::apiserver
