#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

class ResizeTest : public ServerFixture {
 protected:
  ResizeTest() {
    Reply made = call("POST", kPods,
                      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",
      "resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"memory":"2Gi","nvidia.com/gpu":"1"}}}]}})");
    EXPECT_EQ(made.status, 201) << made.text;
  }
  Reply resize(const std::string& container) {
    return patch(std::string(kPods) + "/p/resize", R"({"spec":{"containers":[)" + container + "]}}",
                 "strategic-merge-patch");
  }
  static std::string cause(const Reply& reply) {
    const std::size_t at = reply.message().find("is invalid: ");
    return at == std::string::npos ? reply.message() : reply.message().substr(at + 12);
  }
};

TEST_F(ResizeTest, AmountsChangeAndNothingElse) {
  Reply resized = resize(
      R"({"name":"c","image":"other","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"3"}}})");
  ASSERT_EQ(resized.status, 200) << resized.text;
  EXPECT_EQ(json::int_at(resized.body, {"metadata", "generation"}), 2);
  const json::Value& container = (*json::array_at(resized.body, {"spec", "containers"}))[0];
  EXPECT_EQ(json::string_at(container, {"image"}), "i");
  EXPECT_EQ(json::string_at(container, {"resources", "requests", "cpu"}), "2");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "cpu"}), "3");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "memory"}), "2Gi");
  EXPECT_EQ(call("GET", std::string(kPods) + "/p/resize").at({"kind"}), "Pod");
  EXPECT_EQ(patch(std::string(kPods) + "/p",
                  R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"4"}}}]}})",
                  "strategic-merge-patch")
                .status,
            422);
}

TEST_F(ResizeTest, WhatMayNotChange) {
  EXPECT_EQ(
      cause(resize(
          R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"2"},"requests":{"nvidia.com/gpu":"2"}}})")),
      "spec: Forbidden: only cpu and memory resources are mutable");
  EXPECT_EQ(
      cause(resize(R"({"name":"c","resources":{"requests":{"cpu":null}}})")),
      "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed");
  EXPECT_EQ(cause(resize(R"({"name":"d","image":"i"})")),
            "spec.containers: Forbidden: containers may not be added or removed on resize");
  ASSERT_EQ(patch(std::string(kPods) + "/p/status",
                  R"({"status":{"phase":"Running","containerStatuses":[{"name":"c","image":"i",
      "imageID":"","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}})")
                .status,
            200);
  EXPECT_EQ(cause(resize(R"({"name":"c","resources":{"requests":{"cpu":"2"}}})")),
            "spec: Forbidden: Pod running on node without support for resize");
}

}  // namespace
}  // namespace hekla::apiserver
