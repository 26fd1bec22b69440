#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class RuntimeClassTest : public ServerFixture {
 protected:
  std::string pod(const std::string& name, const std::string& more) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"c","image":"i"}])" + more + "}}";
  }
  void runtime_class(const std::string& name, const std::string& more) {
    Reply made = call("POST", "/apis/node.k8s.io/v1/runtimeclasses",
                      R"({"metadata":{"name":")" + name + R"("},"handler":"h")" + more + "}");
    ASSERT_EQ(made.status, 201) << made.text;
  }
};

TEST_F(RuntimeClassTest, AMissingClassIsRefused) {
  Reply refused = call("POST", kPods, pod("p", R"(,"runtimeClassName":"none")"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "pods \"p\" is forbidden: pod rejected: RuntimeClass \"none\" not found");
  refused = call("POST", kPods, pod("p", R"(,"overhead":{"cpu":"1"})"));
  EXPECT_EQ(refused.message(),
            "pods \"p\" is forbidden: pod rejected: Pod Overhead set without corresponding "
            "RuntimeClass defined Overhead");
}

TEST_F(RuntimeClassTest, TheClassLendsOverheadAndPlacement) {
  runtime_class("k", R"(,"overhead":{"podFixed":{"cpu":"10m"}},
    "scheduling":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"t","operator":"Exists"}]})");
  Reply made = call("POST", kPods, pod("p", R"(,"runtimeClassName":"k","nodeSelector":{"c":"d"})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"spec", "overhead", "cpu"}), "10m");
  EXPECT_EQ(made.at({"spec", "nodeSelector", "a"}), "b");
  EXPECT_EQ(made.at({"spec", "nodeSelector", "c"}), "d");
  const json::Array* tolerations = json::array_at(made.body, {"spec", "tolerations"});
  ASSERT_TRUE(tolerations);
  EXPECT_EQ(json::string_at(tolerations->front(), {"key"}), "t");
  EXPECT_EQ(call("POST", kPods, pod("same", R"(,"runtimeClassName":"k","overhead":{"cpu":"0.01"})"))
                .status,
            201);
  EXPECT_EQ(
      call("POST", kPods, pod("more", R"(,"runtimeClassName":"k","overhead":{"cpu":"1"})")).status,
      403);
  EXPECT_EQ(call("POST", kPods, pod("else", R"(,"runtimeClassName":"k","nodeSelector":{"a":"x"})"))
                .message(),
            "pods \"else\" is forbidden: pod rejected: conflict: "
            "runtimeClass.scheduling.nodeSelector[a] = b; "
            "pod.spec.nodeSelector[a] = x");
}

}  // namespace
}  // namespace hekla::apiserver
