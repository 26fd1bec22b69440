#include "controllers/volcano/job/pod_group.h"

#include <gtest/gtest.h>

#include "framework/quota.h"
#include "json/parse.h"

namespace hekla::controllers {
namespace {

json::Value yaml(const std::string& text) {
  Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed->front().value;
}

std::string amounts(const model::ResourceList& list) {
  std::string text;
  for (const auto& [name, quantity] : list) text += name + "=" + quantity.text() + " ";
  return text;
}

std::string usage(const std::string& spec) {
  Result<model::ResourceList> got = framework::pod_quota_usage(yaml("{spec: " + spec + "}"));
  EXPECT_TRUE(got) << got.error().message;
  return amounts(*got);
}

TEST(QuotaUsage, IsWhatTheTutorialPrints) {
  EXPECT_EQ(usage("{containers: [{name: c, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}]}"),
            "count/pods=1 cpu=1 limits.cpu=1 pods=1 requests.cpu=1 ");
}

TEST(QuotaUsage, TakesRequestsFromLimitsAndNamesExtendedResourcesTwice) {
  EXPECT_EQ(
      usage("{containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2, memory: 1Gi}}}]}"),
      "count/pods=1 limits.memory=1Gi memory=1Gi nvidia.com/gpu=2 pods=1 requests.memory=1Gi "
      "requests.nvidia.com/gpu=2 ");
}

TEST(QuotaUsage, CountsTheLargestOfInitContainersAndContainers) {
  EXPECT_EQ(
      usage("{initContainers: [{name: i, resources: {requests: {cpu: 3}}}], containers: [{name: c, "
            "resources: {requests: {cpu: 1}}}, {name: d, resources: {requests: {cpu: 500m}}}]}"),
      "count/pods=1 cpu=3 pods=1 requests.cpu=3 ");
}

TEST(QuotaUsage, OfNothingIsAPod) { EXPECT_EQ(usage("{}"), "count/pods=1 pods=1 "); }

class MinResources : public ::testing::Test {
 protected:
  // Roles {replicas, minAvailable, cpu, class}.
  struct Role {
    int replicas;
    std::optional<int> minimum;
    int cpu;
    std::string priority_class = "";
  };
  std::string of(int min_available, const std::vector<Role>& roles) {
    model::VcJobSpec spec;
    spec.minAvailable = min_available;
    for (const Role& role : roles) {
      model::TaskSpec task;
      task.replicas = role.replicas;
      task.minAvailable = role.minimum;
      task.podTemplate =
          yaml("{spec: {priorityClassName: '" + role.priority_class +
               "', containers: [{name: c, resources: {requests: {cpu: " + std::to_string(role.cpu) +
               "}}}]}}");
      spec.tasks.push_back(task);
    }
    auto priority = [](const std::string& name) { return name == "high" ? 100 : 0; };
    Result<model::ResourceList> got = min_resources(spec, priority);
    EXPECT_TRUE(got);
    auto cpu = got->find("cpu");
    auto pods = got->find("pods");
    return (pods == got->end() ? "0" : pods->second.text()) + " pods, " +
           (cpu == got->end() ? "0" : cpu->second.text()) + " cpu";
  }
};

TEST_F(MinResources, BelowTheRolesSumWalksTheRolesInOrder) {
  EXPECT_EQ(of(3, {{2, 2, 1}, {4, 4, 10}}), "3 pods, 12 cpu");
  EXPECT_EQ(of(3, {{2, 2, 1}, {4, 4, 10, "high"}}), "3 pods, 30 cpu");
}

TEST_F(MinResources, AtTheRolesSumTakesEachRolesGang) {
  EXPECT_EQ(of(3, {{2, 1, 1}, {4, 2, 10}}), "3 pods, 21 cpu");
  EXPECT_EQ(of(3, {{2, std::nullopt, 1}, {1, std::nullopt, 10}}), "3 pods, 12 cpu");
}

TEST_F(MinResources, AboveTheRolesSumFillsUpWithTheRest) {
  EXPECT_EQ(of(5, {{2, 1, 1}, {4, 2, 10}}), "5 pods, 32 cpu");
  EXPECT_EQ(of(0, {{2, 0, 1}}), "0 pods, 0 cpu");
}

TEST(PodGroup, PodsComeAfterThePendingPhase) {
  model::PodGroup group;
  EXPECT_FALSE(may_create_pods(nullptr));
  EXPECT_FALSE(may_create_pods(&group));
  group.status.phase = "Pending";
  EXPECT_FALSE(may_create_pods(&group));
  for (const char* phase : {"Inqueue", "Running", "Unknown", "Completed"}) {
    group.status.phase = phase;
    EXPECT_TRUE(may_create_pods(&group)) << phase;
  }
}

TEST(PodGroup, TheJobHearsOnlyOfTheLatestTrouble) {
  model::VcJob job;
  job.metadata.ns = "default";
  job.metadata.name = "j";
  model::PodGroup group;
  auto add = [&](const char* type, int second, const char* message, const char* status = "True") {
    model::PodGroupCondition condition;
    condition.type = type;
    condition.status = status;
    condition.message = message;
    condition.lastTransitionTime = model::Time(WallTime(std::chrono::seconds(second)));
    group.status.conditions.push_back(condition);
  };
  EXPECT_FALSE(pending_event(job, group));
  add("Unschedulable", 10, "no room");
  ASSERT_TRUE(pending_event(job, group));
  EXPECT_EQ(pending_event(job, group)->message, "PodGroup default:j unschedule,reason: no room");
  add("Scheduled", 10, "");
  EXPECT_FALSE(pending_event(job, group));
  add("Unschedulable", 11, "again");
  EXPECT_EQ(pending_event(job, group)->message, "PodGroup default:j unschedule,reason: again");
  add("Scheduled", 12, "", "False");
  EXPECT_TRUE(pending_event(job, group));
}

}  // namespace
}  // namespace hekla::controllers
