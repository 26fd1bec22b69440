#include "controllers/workload/cron_job.h"

#include "controllers/workload/fake_cluster_test.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

class CronJobTest : public WorkloadsTest {
 protected:
  void cron(const std::string& more = "", const std::string& schedule = "*/1 * * * *") {
    apply(workload_resources::cron_jobs,
          "metadata: {name: tick}\n"
          "spec:\n"
          "  schedule: \"" +
              schedule +
              "\"\n"
              "  jobTemplate: {spec: {completions: 1, selector: {matchLabels: {app: tick}},\n"
              "    template: {metadata: {labels: {app: tick}},\n"
              "      spec: {restartPolicy: Never, containers: [{name: main}]}}}}\n" +
              more);
  }
  std::vector<std::string> jobs() {
    std::vector<std::string> names;
    for (const json::Value* job : api_.list(resources::batch_jobs))
      names.emplace_back(json::string_at(*job, {"metadata", "name"}));
    return names;
  }
  void finish_pods() {
    for (const std::string& name : pod_names())
      if (json::string_at(object(resources::pods, name), {"status", "phase"}) != "Succeeded")
        set_phase(name, "Succeeded");
  }
};

TEST_F(CronJobTest, MakesAJobAMinute) {
  cron();
  EXPECT_TRUE(jobs().empty());
  advance(std::chrono::seconds(61));
  ASSERT_EQ(jobs().size(), 1u);
  const json::Value& job = object(resources::batch_jobs, jobs()[0]);
  std::string_view scheduled = json::string_at(
      job, {"metadata", "annotations", "batch.kubernetes.io/cronjob-scheduled-timestamp"});
  Result<WallTime> when = model::parse_rfc3339(scheduled);
  ASSERT_TRUE(when) << scheduled;
  auto minutes = std::chrono::duration_cast<std::chrono::minutes>(when->time_since_epoch()).count();
  EXPECT_EQ(jobs()[0], "tick-" + std::to_string(minutes));
  EXPECT_EQ(
      json::array_at(object(workload_resources::cron_jobs, "tick"), {"status", "active"})->size(),
      1u);
  EXPECT_TRUE(has_event("SuccessfulCreate", "Created job " + jobs()[0]));
  finish_pods();
  EXPECT_FALSE(json::string_at(object(workload_resources::cron_jobs, "tick"),
                               {"status", "lastSuccessfulTime"})
                   .empty());
  EXPECT_TRUE(
      has_event("SawCompletedJob", "Saw completed job: " + jobs()[0] + ", condition: Complete"));
}

TEST_F(CronJobTest, ForbidWaitsForTheJobBefore) {
  cron("  concurrencyPolicy: Forbid\n");
  advance(std::chrono::seconds(125));
  EXPECT_EQ(jobs().size(), 1u);
  EXPECT_TRUE(has_event("JobAlreadyActive",
                        "Not starting job because prior execution is running and concurrency "
                        "policy is Forbid"));
  finish_pods();
  EXPECT_EQ(jobs().size(), 2u);
}

TEST_F(CronJobTest, ReplaceTakesTheJobBeforeAway) {
  cron("  concurrencyPolicy: Replace\n");
  advance(std::chrono::seconds(61));
  std::string first = jobs().at(0);
  advance(std::chrono::seconds(60));
  ASSERT_EQ(jobs().size(), 1u);
  EXPECT_NE(jobs()[0], first);
}

TEST_F(CronJobTest, KeepsAsManyAsAsked) {
  cron("  successfulJobsHistoryLimit: 2\n");
  for (int i = 0; i < 5; ++i) {
    advance(std::chrono::seconds(60));
    finish_pods();
  }
  EXPECT_EQ(jobs().size(), 2u);
}

TEST_F(CronJobTest, SaysWhatIsWrong) {
  cron("", "0 0 30 2 *");
  EXPECT_TRUE(has_event("InvalidSchedule",
                        "invalid schedule: 0 0 30 2 * : time difference between two schedules is "
                        "less than 1 second"));
  apply(workload_resources::cron_jobs,
        "metadata: {name: mars}\nspec: {schedule: '* * * * *', timeZone: Mars/Base}\n");
  EXPECT_TRUE(
      has_event("UnknownTimeZone", "invalid timeZone: \"Mars/Base\": unknown time zone Mars/Base"));
  apply(
      resources::batch_jobs,
      "metadata: {name: by-hand, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: "
      "tick, "
      "uid: " +
          std::string(
              json::string_at(object(workload_resources::cron_jobs, "tick"), {"metadata", "uid"})) +
          ", controller: true}]}\nspec: {completions: 1, parallelism: 0, template: {spec: {}}}\n");
  EXPECT_TRUE(has_event("UnexpectedJob",
                        "Saw a job that the controller did not create or forgot: by-hand"));
}

TEST_F(CronJobTest, SuspendedDoesNothing) {
  cron("  suspend: true\n");
  advance(std::chrono::seconds(200));
  EXPECT_TRUE(jobs().empty());
}

}  // namespace
}  // namespace hekla::controllers
