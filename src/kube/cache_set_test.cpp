#include "kube/cache_set.h"

#include <gtest/gtest.h>

#include "model/core.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::kube {
namespace {

struct Named {
  model::ObjectMeta metadata;
};
BOOST_DESCRIBE_STRUCT(Named, (), (metadata))

class CacheSetTest : public ::testing::Test {
 protected:
  CacheSetTest() : api_(simulation_.clock()), client_(api_, simulation_.add("component")) {}

  void create(const Resource& resource, const std::string& name, const std::string& owner = {}) {
    json::Object metadata{{"name", name}, {"namespace", "ns"}};
    if (!owner.empty())
      metadata["ownerReferences"] =
          json::Array{json::Object{{"kind", "X"}, {"uid", owner}, {"controller", true}}};
    ASSERT_TRUE(api_.create(resource, json::Object{{"metadata", std::move(metadata)}}));
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_;
  test::FakeClient client_;
  CacheSet caches_{client_};
  int synced_ = 0;
};

TEST_F(CacheSetTest, GivesTheSameInformerForTheSameResourceAndType) {
  Informer<Named>& pods = caches_.of<Named>(resources::pods);
  EXPECT_EQ(&pods, &caches_.of<Named>(resources::pods));
  EXPECT_EQ(&pods, &caches_.indexed_by_controller<Named>(resources::pods));
  EXPECT_NE(static_cast<void*>(&pods), &caches_.of<Named>(resources::services));
  EXPECT_NE(static_cast<void*>(&pods), &caches_.of<model::Pod>(resources::pods));
  EXPECT_NE(static_cast<void*>(&pods),
            &caches_.of<Named>(resources::pods, {.label_selector = "a"}));
  EXPECT_EQ(&pods, &caches_.known<Named>(resources::pods));
}

TEST_F(CacheSetTest, TellsOnceWhenEverythingHasItsFirstList) {
  caches_.of<Named>(resources::pods);
  caches_.of<Named>(resources::services);
  caches_.on_synced([this] { ++synced_; });
  EXPECT_FALSE(caches_.synced());
  caches_.start();
  EXPECT_FALSE(caches_.synced());
  ASSERT_TRUE(simulation_.run_until_idle());
  EXPECT_TRUE(caches_.synced());
  create(resources::pods, "p");
  ASSERT_TRUE(simulation_.run_until_idle());
  EXPECT_EQ(synced_, 1);
}

TEST_F(CacheSetTest, DoesNotWaitForAnOptionalResourceThatIsNotServed) {
  caches_.of<Named>(resources::pods);
  caches_.of<Named>(resources::hyper_nodes, {.optional = true});
  caches_.on_synced([this] { ++synced_; });
  api_.unserved = {resources::hyper_nodes.plural};
  caches_.start();
  ASSERT_TRUE(simulation_.run_until_idle());
  EXPECT_EQ(synced_, 1);
  EXPECT_TRUE(caches_.served(resources::pods));
  EXPECT_FALSE(caches_.served(resources::hyper_nodes));
  api_.unserved.clear();
  ASSERT_TRUE(simulation_.run_for(std::chrono::seconds(20)));
  EXPECT_TRUE(caches_.served(resources::hyper_nodes));
  EXPECT_EQ(synced_, 1);
}

TEST_F(CacheSetTest, WaitsForAResourceThatSomebodyElseNeeds) {
  caches_.of<Named>(resources::hyper_nodes, {.optional = true});
  caches_.of<Named>(resources::hyper_nodes);
  api_.unserved = {resources::hyper_nodes.plural};
  caches_.start();
  ASSERT_TRUE(simulation_.run_until_idle());
  EXPECT_FALSE(caches_.synced());
}

TEST_F(CacheSetTest, FindsObjectsByTheirController) {
  caches_.indexed_by_controller<Named>(resources::pods);
  create(resources::pods, "a", "u1");
  create(resources::pods, "b", "u1");
  create(resources::pods, "c", "u2");
  create(resources::pods, "d");
  caches_.start();
  ASSERT_TRUE(simulation_.run_until_idle());
  EXPECT_EQ(caches_.controlled_by<Named>(resources::pods, "u1").size(), 2u);
  EXPECT_EQ(caches_.orphans_in<Named>(resources::pods, "ns").size(), 1u);
  EXPECT_TRUE(caches_.orphans_in<Named>(resources::pods, "other").empty());
}

TEST_F(CacheSetTest, ShowsAnOwnWriteToEveryCacheOfItsResource) {
  Informer<Named>& named = caches_.of<Named>(resources::pods);
  Informer<model::Pod>& pods = caches_.of<model::Pod>(resources::pods);
  caches_.start();
  ASSERT_TRUE(simulation_.run_until_idle());
  Write write;
  write.resource = resources::pods;
  write.body = json::Object{{"metadata", json::Object{{"name", "p"}, {"namespace", "ns"}}}};
  WriteResult made = api_.write(write);
  ASSERT_TRUE(made);
  EXPECT_FALSE(named.get({"ns", "p"}));
  caches_.overlay(write, *made);
  EXPECT_TRUE(named.get({"ns", "p"}));
  EXPECT_TRUE(pods.get({"ns", "p"}));
  caches_.overlay(write, nullptr);  // a write without a result changes nothing
}

}  // namespace
}  // namespace hekla::kube
