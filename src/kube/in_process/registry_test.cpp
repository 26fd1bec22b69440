#include "kube/in_process/registry.h"

#include <gtest/gtest.h>

namespace hekla::kube {
namespace {

TEST(InProcessRegistry, FindsPartsByNameAndServicesByPort) {
  InProcessRegistry registry;
  EXPECT_EQ(registry.part("gateway"), nullptr);
  bool up = false;
  registry.add(InProcessPart{.name = "gateway", .log = {"gateway"}, .ready = [&up] { return up; }});
  ASSERT_TRUE(registry.part("gateway"));
  EXPECT_FALSE(is_ready(registry.part("gateway")->ready));
  up = true;
  EXPECT_TRUE(is_ready(registry.part("gateway")->ready));

  registry.add(InProcessService{
      .ns = "kubeflow", .service = "ml-pipeline", .port = 8888, .handler = [](net::Request, auto) {
      }});
  ASSERT_TRUE(registry.find("kubeflow", "ml-pipeline", 8888));
  EXPECT_TRUE(is_ready(registry.find("kubeflow", "ml-pipeline", 8888)->ready));
  EXPECT_EQ(registry.find("kubeflow", "ml-pipeline", 80), nullptr);
  EXPECT_EQ(registry.find("team", "ml-pipeline", 8888), nullptr);
  EXPECT_EQ(registry.services().size(), 1u);
}

}  // namespace
}  // namespace hekla::kube
