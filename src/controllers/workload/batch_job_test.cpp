#include "controllers/workload/batch_job.h"

#include "controllers/workload/fake_cluster_test.h"

namespace hekla::controllers {
namespace {

namespace resources = kube::resources;

std::string job(const std::string& spec, const std::string& policy = "Never") {
  return "metadata: {name: j}\n"
         "spec:\n"
         "  selector: {matchLabels: {job-name: j}}\n"
         "  template: {metadata: {labels: {job-name: j}},\n"
         "    spec: {restartPolicy: " +
         policy + ", containers: [{name: main, image: busybox}]}}\n" + spec;
}

class BatchJobTest : public WorkloadsTest {
 protected:
  std::int64_t count(std::string_view member) {
    return status_of(resources::batch_jobs, "j", member);
  }
  std::string condition_of(std::string_view type) {
    return condition(resources::batch_jobs, "j", type);
  }
  // The unfinished pods, of one index if given.
  std::vector<std::string> running(std::int64_t index = -1) {
    std::vector<std::string> names;
    for (const std::string& name : pod_names()) {
      const json::Value& pod = object(resources::pods, name);
      std::string_view phase = json::string_at(pod, {"status", "phase"});
      if (phase == "Succeeded" || phase == "Failed") continue;
      if (index >= 0 && !name.starts_with("j-" + std::to_string(index) + "-")) continue;
      names.push_back(name);
    }
    return names;
  }
  void finish_all(const std::string& phase, int code = 0) {
    for (const std::string& name : running()) set_phase(name, phase, code);
  }
};

TEST(JobIndexesTest, ReadsAndWritesRanges) {
  EXPECT_EQ(format_job_indexes(parse_job_indexes("0-3,5,7,8")), "0-3,5,7,8");
  EXPECT_EQ(format_job_indexes(parse_job_indexes("")), "");
  EXPECT_EQ(parse_job_indexes("2-4").size(), 3u);
}

TEST_F(BatchJobTest, CompletesAfterEnoughSuccesses) {
  apply(resources::batch_jobs, job("  completions: 3\n  parallelism: 2\n"));
  EXPECT_EQ(running().size(), 2u);
  EXPECT_EQ(count("active"), 2);
  set_phase(running()[0], "Succeeded");
  EXPECT_EQ(count("succeeded"), 1);
  EXPECT_EQ(running().size(), 2u);
  finish_all("Succeeded");
  EXPECT_EQ(count("succeeded"), 3);
  EXPECT_EQ(count("active"), 0);
  EXPECT_EQ(condition_of("SuccessCriteriaMet"), "True CompletionsReached");
  EXPECT_EQ(condition_of("Complete"), "True CompletionsReached");
  EXPECT_TRUE(has_event("Completed", "Job completed"));
  EXPECT_FALSE(
      json::string_at(object(resources::batch_jobs, "j"), {"status", "completionTime"}).empty());
  for (const std::string& name : pod_names())
    EXPECT_TRUE(json::array_at(object(resources::pods, name), {"metadata", "finalizers"})->empty());
}

TEST_F(BatchJobTest, BacksOffAndGivesUp) {
  apply(resources::batch_jobs, job("  completions: 1\n  backoffLimit: 2\n"));
  finish_all("Failed", 1);
  EXPECT_EQ(count("failed"), 1);
  EXPECT_TRUE(running().empty());
  advance(std::chrono::seconds(9));
  EXPECT_TRUE(running().empty());
  advance(std::chrono::seconds(2));
  ASSERT_EQ(running().size(), 1u);
  finish_all("Failed", 1);
  advance(std::chrono::seconds(15));
  EXPECT_TRUE(running().empty());
  advance(std::chrono::seconds(6));
  ASSERT_EQ(running().size(), 1u);
  finish_all("Failed", 1);
  EXPECT_EQ(count("failed"), 3);
  EXPECT_EQ(condition_of("Failed"), "True BackoffLimitExceeded");
  EXPECT_TRUE(has_event("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
}

TEST_F(BatchJobTest, IndexesHaveNamesAndVariables) {
  apply(resources::batch_jobs,
        job("  completions: 3\n  parallelism: 3\n  completionMode: Indexed\n"));
  ASSERT_EQ(running(1).size(), 1u);
  const json::Value& pod = object(resources::pods, running(1)[0]);
  EXPECT_EQ(json::string_at(pod, {"spec", "hostname"}), "j-1");
  EXPECT_EQ(
      json::string_at(pod, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"}),
      "1");
  const json::Value& container = (*json::array_at(pod, {"spec", "containers"}))[0];
  EXPECT_EQ(json::string_at((*json::array_at(container, {"env"}))[0], {"name"}),
            "JOB_COMPLETION_INDEX");
  set_phase(running(0)[0], "Succeeded");
  set_phase(running(2)[0], "Succeeded");
  EXPECT_EQ(json::string_at(object(resources::batch_jobs, "j"), {"status", "completedIndexes"}),
            "0,2");
  finish_all("Succeeded");
  EXPECT_EQ(json::string_at(object(resources::batch_jobs, "j"), {"status", "completedIndexes"}),
            "0-2");
  EXPECT_EQ(condition_of("Complete"), "True CompletionsReached");
}

TEST_F(BatchJobTest, EachIndexHasItsOwnLimit) {
  apply(resources::batch_jobs, job("  completions: 2\n  parallelism: 2\n"
                                   "  completionMode: Indexed\n  backoffLimitPerIndex: 1\n"));
  set_phase(running(0)[0], "Failed", 1);
  advance(std::chrono::seconds(11));
  set_phase(running(0)[0], "Failed", 1);
  EXPECT_EQ(json::string_at(object(resources::batch_jobs, "j"), {"status", "failedIndexes"}), "0");
  EXPECT_EQ(condition_of("Failed"), "");
  set_phase(running(1)[0], "Succeeded");
  EXPECT_EQ(condition_of("Failed"), "True FailedIndexes");
}

TEST_F(BatchJobTest, FailurePolicyEndsOrIgnores) {
  apply(resources::batch_jobs,
        job("  completions: 1\n  podFailurePolicy: {rules: [\n"
            "    {action: Ignore, onExitCodes: {operator: In, values: [7]}},\n"
            "    {action: FailJob, onExitCodes: {containerName: main, operator: In, values: "
            "[42]}}]}\n"));
  std::string first = running()[0];
  set_phase(first, "Failed", 7);
  EXPECT_EQ(count("failed"), 0);
  ASSERT_EQ(running().size(), 1u);
  std::string second = running()[0];
  set_phase(second, "Failed", 42);
  EXPECT_EQ(condition_of("Failed"), "True PodFailurePolicy");
  EXPECT_TRUE(has_event("PodFailurePolicy",
                        "Container main for pod default/" + second +
                            " failed with exit code 42 matching FailJob rule at index 1"));
}

TEST_F(BatchJobTest, SuccessPolicyEndsEarly) {
  apply(resources::batch_jobs, job("  completions: 3\n  parallelism: 3\n  completionMode: Indexed\n"
                                   "  successPolicy: {rules: [{succeededIndexes: \"0\"}]}\n"));
  set_phase(running(0)[0], "Succeeded");
  EXPECT_EQ(condition_of("SuccessCriteriaMet"), "True SuccessPolicy");
  run_nodes();
  EXPECT_EQ(condition_of("Complete"), "True SuccessPolicy");
  EXPECT_TRUE(running().empty());
}

TEST_F(BatchJobTest, SuspendsAndResumes) {
  apply(resources::batch_jobs, job("  parallelism: 2\n  completions: 2\n"));
  run_nodes();
  apply(resources::batch_jobs, job("  suspend: true\n"));
  run_nodes();
  EXPECT_TRUE(running().empty());
  EXPECT_EQ(count("failed"), 0);
  EXPECT_EQ(condition_of("Suspended"), "True JobSuspended");
  EXPECT_TRUE(json::string_at(object(resources::batch_jobs, "j"), {"status", "startTime"}).empty());
  apply(resources::batch_jobs, job("  suspend: false\n"));
  EXPECT_EQ(running().size(), 2u);
  EXPECT_EQ(condition_of("Suspended"), "False JobResumed");
}

TEST_F(BatchJobTest, HasADeadlineAndATimeToLive) {
  apply(resources::batch_jobs, job("  completions: 1\n  activeDeadlineSeconds: 5\n"
                                   "  ttlSecondsAfterFinished: 20\n"));
  run_nodes();
  advance(std::chrono::seconds(6));
  EXPECT_EQ(condition_of("FailureTarget"), "True DeadlineExceeded");
  run_nodes();
  EXPECT_EQ(condition_of("Failed"), "True DeadlineExceeded");
  advance(std::chrono::seconds(21));
  EXPECT_FALSE(api_.find(resources::batch_jobs, {"default", "j"}));
}

TEST_F(BatchJobTest, LeavesOthersJobsAlone) {
  apply(resources::batch_jobs, job("  completions: 1\n  managedBy: example.com/mine\n"));
  EXPECT_TRUE(pod_names().empty());
}

}  // namespace
}  // namespace hekla::controllers
