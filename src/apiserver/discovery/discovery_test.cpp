#include "apiserver/discovery/discovery.h"

#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class DiscoveryTest : public ServerFixture {
 protected:
  static const json::Value* named(const json::Array* list, std::string_view key,
                                  std::string_view value) {
    for (const json::Value& one : *list)
      if (json::string_at(one, {key}) == value) return &one;
    return nullptr;
  }
};

TEST_F(DiscoveryTest, AggregatedAndRevalidated) {
  const std::string accept =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
  Reply groups = call("GET", "/apis", "", {{"Accept", accept}});
  EXPECT_EQ(groups.headers.get("Content-Type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(groups.at({"kind"}), "APIGroupDiscoveryList");
  std::string etag(groups.headers.get("ETag"));
  Reply again = call("GET", "/apis", "", {{"Accept", accept}, {"If-None-Match", etag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.text.empty());
  Reply core = call("GET", "/api", "", {{"Accept", accept}});
  const json::Value& version =
      json::array_at(json::array_at(core.body, {"items"})->front(), {"versions"})->front();
  const json::Value* pods = named(json::array_at(version, {"resources"}), "resource", "pods");
  ASSERT_TRUE(pods);
  EXPECT_EQ(json::string_at(*pods, {"scope"}), "Namespaced");
  EXPECT_TRUE(named(json::array_at(*pods, {"subresources"}), "subresource", "binding"));
}

TEST_F(DiscoveryTest, OneDocumentPerVersion) {
  EXPECT_EQ(call("GET", "/api").at({"kind"}), "APIVersions");
  Reply groups = call("GET", "/apis");
  EXPECT_TRUE(named(json::array_at(groups.body, {"groups"}), "name", "apps"));
  EXPECT_EQ(call("GET", "/apis/apps").at({"preferredVersion", "version"}), "v1");
  Reply apps = call("GET", "/apis/apps/v1");
  EXPECT_EQ(apps.at({"groupVersion"}), "apps/v1");
  const json::Value* scale =
      named(json::array_at(apps.body, {"resources"}), "name", "deployments/scale");
  ASSERT_TRUE(scale);
  EXPECT_EQ(json::string_at(*scale, {"group"}), "autoscaling");
  EXPECT_EQ(call("GET", "/apis/none.io").status, 404);
  EXPECT_EQ(call("GET", "/version").at({"gitVersion"}), "v1.34.1+hekla");
  EXPECT_TRUE(json::array_at(call("GET", "/").body, {"paths"}));
}

}  // namespace
}  // namespace hekla::apiserver
