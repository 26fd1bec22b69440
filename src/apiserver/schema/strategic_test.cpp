// Strategic merge: one row per directive and per list kind.
#include <gtest/gtest.h>

#include <ctime>

#include "apiserver/schema/facts.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

struct Case {
  const char *name, *type, *live, *patch, *expected;  // expected: JSON, or !text of the error
};

const char* const kPod = "io.k8s.api.core.v1.Pod";
const char* const kDeployment = "io.k8s.api.apps.v1.Deployment";

TEST(StrategicMerge, Cases) {
  const Case cases[] = {
      {"objects merge and null deletes", kPod, R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"a":null,"c":"3"}}})",
       R"({"metadata":{"labels":{"b":"2","c":"3"}}})"},
      {"keyed lists merge by name", kPod,
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
       R"({"spec":{"containers":[{"name":"b","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})"},
      {"a new element goes behind the live ones it does not follow", kPod,
       R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"z","image":"i"}]}})",
       R"({"spec":{"containers":[{"name":"z","image":"i"},{"name":"a"}]}})"},
      {"$patch delete in a list", kPod, R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"$patch replace in a list", kPod, R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"c"}]}})"},
      {"$patch replace in an object", kPod, R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"replace","b":"2"}}})",
       R"({"metadata":{"labels":{"b":"2"}}})"},
      {"$patch delete in an object", kPod, R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{"labels":{}}})"},
      {"$patch delete of a member that is not there", kPod, R"({"metadata":{}})",
       R"({"metadata":{"labels":{"$patch":"delete"}}})", R"({"metadata":{}})"},
      {"$setElementOrder sorts", kPod, R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],)"
       R"("containers":[{"name":"a","image":"x"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"a","image":"x"}]}})"},
      {"$setElementOrder alone", kPod,
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a"}]}})"},
      {"$setElementOrder with additions as kubectl set env sends", kPod,
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a",)"
       R"("$setElementOrder/env":[{"name":"X"},{"name":"Y"}],"env":[{"name":"Y",)"
       R"("value":"2"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y",)"
       R"("value":"2"}]}]}})"},
      {"an order that misses a patched element", kPod, R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]}})",
       "!doesn't match $setElementOrder"},
      {"$deleteFromPrimitiveList", kPod, R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"],)"
       R"("$setElementOrder/finalizers":["a","c"]}})",
       R"({"metadata":{"finalizers":["a","c"]}})"},
      {"sets of scalars unite", kPod, R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["b","a"]}})", R"({"metadata":{"finalizers":["b","a"]}})"},
      {"$retainKeys clears the other sources of a volume", kPod,
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["hostPath","name"],"name":"v",)"
       R"("hostPath":{"path":"/x"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})"},
      {"$retainKeys on a deployment's strategy", kDeployment,
       R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})",
       R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
       R"({"spec":{"strategy":{"type":"Recreate"}}})"},
      {"$retainKeys must name what the patch sets", kDeployment,
       R"({"spec":{"strategy":{"type":"RollingUpdate"}}})",
       R"({"spec":{"strategy":{"$retainKeys":["rollingUpdate"],"type":"Recreate"}}})",
       "!invalid patch format of retainKeys"},
      {"lists without a key are replaced", kPod, R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"tolerations":[{"key":"b"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})"},
      {"merge key missing", kPod, R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"image":"x"}]}})",
       "!map: map[image:x] does not contain declared merge key: name"},
      {"ports merge by containerPort", kPod,
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,)"
       R"("protocol":"TCP"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"name":"http"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"TCP",)"
       R"("name":"http"}]}]}})"},
      {"nulls in a new object vanish", kPod, R"({})",
       R"({"spec":{"nodeName":null,"hostname":"h"}})", R"({"spec":{"hostname":"h"}})"},
      {"a scalar over an object", kPod, R"({"spec":{"hostname":{"x":1}}})",
       R"({"spec":{"hostname":"h"}})", R"({"spec":{"hostname":"h"}})"},
      {"unknown directive", kPod, R"({"metadata":{"labels":{}}})",
       R"({"metadata":{"labels":{"$patch":"what"}}})", "!unknown patch type: what"},
      {"replace strategy", "io.k8s.api.policy.v1.PodDisruptionBudget",
       R"({"spec":{"selector":{"matchLabels":{"a":"1"}}}})",
       R"({"spec":{"selector":{"matchLabels":{"b":"2"}}}})",
       R"({"spec":{"selector":{"matchLabels":{"b":"2"}}}})"},
  };
  for (const Case& one : cases) {
    json::Value live = *json::parse(one.live);
    Result<void> done = strategic_merge(*builtin_type(one.type), live, *json::parse(one.patch));
    if (one.expected[0] == '!') {
      ASSERT_FALSE(done.has_value()) << one.name;
      EXPECT_NE(done.error().message.find(one.expected + 1), std::string::npos)
          << one.name << ": " << done.error().message;
    } else {
      ASSERT_TRUE(done.has_value()) << one.name << ": " << done.error().message;
      EXPECT_TRUE(json::equal(live, *json::parse(one.expected)))
          << one.name << ": " << json::serialize(live);
    }
  }
}

TEST(StrategicMerge, LongListsMergeInAMoment) {
  const std::clock_t begun = std::clock();
  json::Array live, patch;
  for (int i = 0; i < 30'000; ++i) {
    live.push_back(json::Object{{"name", "c" + std::to_string(i)}, {"image", "1"}});
    patch.push_back(json::Object{{"name", "c" + std::to_string(30'000 - i)}, {"image", "2"}});
    if (i % 3 == 0) patch.back().get_object().emplace("$patch", "delete");
  }
  json::Value object = json::Object{{"spec", json::Object{{"containers", live}}}};
  const json::Value change = json::Object{{"spec", json::Object{{"containers", patch}}}};
  ASSERT_TRUE(strategic_merge(*builtin_type(kPod), object, change));
  EXPECT_EQ(json::array_at(object, {"spec", "containers"})->size(),
            20'001u);  // c0 stays, a third goes
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 5);
}

}  // namespace
}  // namespace hekla::apiserver
