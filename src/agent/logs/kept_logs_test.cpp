#include "agent/logs/kept_logs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/logs/kept_log_expiry.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

class KeptLogsTest : public ::testing::Test {
 protected:
  // A pod's directory with one log of `size` bytes; what keep() takes over.
  std::string containers(const std::string& uid, std::size_t size) {
    const std::string path = dir_ + "/pods/" + uid + "/containers";
    fs::create_directories(path + "/c");
    std::ofstream(path + "/c/0.log") << std::string(size, 'x');
    return path;
  }
  PodRecord record(const std::string& uid, const std::string& job_uid) {
    PodRecord out;
    out.uid = uid;
    out.ns = "default";
    out.name = "ps-0";
    out.job = model::OwnerReference{"batch.volcano.sh/v1alpha1", "Job", "j", job_uid, true, true};
    return out;
  }
  std::string kept_dir() const { return dir_ + "/kept"; }
  TempDir temp_;
  const std::string& dir_ = temp_.path();
  WallTime noon_ = from_ns(1'700'000'000'000'000'000);
};

TEST_F(KeptLogsTest, OutliveTheProcessAndGoWithTheJob) {
  {
    KeptLogs logs(kept_dir());
    ASSERT_TRUE(logs.open());
    ASSERT_TRUE(logs.keep(record("u1", "j1"), containers("u1", 10), noon_));
    ASSERT_TRUE(logs.keep(record("u2", "j1"), containers("u2", 20), noon_ + Nanos(1)));
    ASSERT_TRUE(logs.keep(record("u3", "j2"), containers("u3", 30), noon_ + Nanos(2)));
    EXPECT_FALSE(fs::exists(dir_ + "/pods/u1/containers"));
    // The pod is erased again after a crash: nothing is lost.
    ASSERT_TRUE(logs.keep(record("u1", "j1"), dir_ + "/pods/u1/containers", noon_));
  }
  fs::create_directories(kept_dir() + "/torn");
  KeptLogs logs(kept_dir());
  ASSERT_TRUE(logs.open());
  EXPECT_FALSE(fs::exists(kept_dir() + "/torn"));
  ASSERT_EQ(logs.list("default").size(), 3u);
  EXPECT_EQ(logs.list("other").size(), 0u);
  EXPECT_EQ(logs.find({"default", "ps-0", ""})->record.uid, "u3");
  EXPECT_EQ(logs.find({"default", "ps-0", "u2"})->bytes, 20);
  EXPECT_TRUE(fs::exists(logs.containers_dir("u2") + "/c/0.log"));
  ASSERT_TRUE(logs.remove_job("j1"));
  ASSERT_EQ(logs.list("").size(), 1u);
  EXPECT_EQ(logs.list("")[0].record.uid, "u3");
  EXPECT_FALSE(fs::exists(kept_dir() + "/u1"));
}

TEST_F(KeptLogsTest, TheOldestGoFirst) {
  KeptLogs logs(kept_dir(), {.bytes = 50, .age = std::chrono::hours(1)});
  ASSERT_TRUE(logs.open());
  for (int i = 0; i < 4; ++i) {
    std::string uid = "u" + std::to_string(i);
    ASSERT_TRUE(logs.keep(record(uid, "j"), containers(uid, 20), noon_ + std::chrono::minutes(i)));
  }
  ASSERT_TRUE(logs.trim(noon_ + std::chrono::minutes(4)));
  ASSERT_EQ(logs.list("").size(), 2u);
  EXPECT_EQ(logs.list("")[0].record.uid, "u2");
  ASSERT_TRUE(logs.trim(noon_ + std::chrono::minutes(62) + Nanos(1)));
  ASSERT_EQ(logs.list("").size(), 1u);
}

TEST(JobResource, OfEveryKindOfJob) {
  kube::Resource tf = job_resource({"kubeflow.org/v1", "TFJob", "t", "u", true, true});
  EXPECT_EQ(tf.group + "/" + tf.version + "/" + tf.plural, "kubeflow.org/v1/tfjobs");
  EXPECT_EQ(job_resource({"batch/v1", "Job", "t", "u", true, true}), kube::resources::batch_jobs);
}

}  // namespace
}  // namespace hekla::agent
