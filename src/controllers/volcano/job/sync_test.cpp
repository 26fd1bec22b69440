#include "controllers/volcano/job/sync.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::controllers {
namespace {

// A job of one task whose group has been let in.
JobView view_of(std::int32_t replicas, const std::string& plugins = "{}") {
  JobView view;
  Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(
      "{metadata: {name: j, namespace: ns, uid: u}, spec: {minAvailable: 1, plugins: " + plugins +
      ", tasks: [{name: w, replicas: " + std::to_string(replicas) +
      ", minAvailable: 1, template: {spec: {containers: [{name: c, image: i}]}}}]}}");
  EXPECT_TRUE(parsed) << parsed.error().message;
  view.job =
      std::make_shared<const model::VcJob>(*json::decode<model::VcJob>(parsed->front().value));
  model::PodGroup group;
  group.spec.minMember = 1;
  group.spec.minTaskMember["w"] = 1;
  group.status.phase = "Inqueue";
  view.pod_group = std::make_shared<const model::PodGroup>(group);
  view.queue = std::make_shared<const model::Queue>();
  view.plugins = *make_plugins(view.job->spec);
  view.priority_of = [](const std::string&) { return 0; };
  return view;
}

std::size_t pods_made(const Plan& plan) {
  std::size_t made = 0;
  for (const Planned& one : plan.writes) made += one.purpose == Purpose::pod_create ? 1 : 0;
  return made;
}

TEST(Sync, MakesTheJobsPodsInOneRound) {
  Plan plan = sync_job(view_of(5000), Rule::pending_rule);
  EXPECT_EQ(pods_made(plan), 5000u);
  EXPECT_FALSE(plan.goes_on);
}

TEST(Sync, MakesAHugeJobInPortions) {
  JobView view = view_of(2'000'000'000);
  Plan plan = sync_job(view, Rule::pending_rule);
  EXPECT_GT(pods_made(plan), 1000u);
  EXPECT_LT(pods_made(plan), 50'000u);
  EXPECT_TRUE(plan.goes_on);
}

TEST(Sync, EndsPodsThatNoTaskWants) {
  JobView view = view_of(2);
  for (const char* name : {"j-w-1", "j-w-2", "j-w-01", "j-v-0", "j-w-", "j-w-x"}) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.uid = name;
    view.pods.push_back(std::make_shared<const model::Pod>(pod));
  }
  EXPECT_EQ(sync_job(view, Rule::pending_rule).killed,
            (std::vector<std::string>{"j-w-2", "j-w-01", "j-v-0", "j-w-", "j-w-x"}));
}

TEST(Sync, RefusesToListTooManyHosts) {
  JobView view = view_of(65'537, "{svc: []}");
  model::VcJob job = *view.job;
  job.status.state.phase = "Pending";
  view.job = std::make_shared<const model::VcJob>(job);
  Plan plan = sync_job(view, Rule::pending_rule);
  ASSERT_TRUE(plan.error);
  EXPECT_EQ(plan.error->message, "the job has 65537 pods: no more than 65536 hosts can be listed");
  EXPECT_TRUE(plan.writes.empty());
}

}  // namespace
}  // namespace hekla::controllers
