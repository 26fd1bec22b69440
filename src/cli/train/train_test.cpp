#include <gtest/gtest.h>

#include "cli/train/train_files.h"
#include "cli/train/train_job.h"

namespace hekla::cli {
namespace {

TrainPlan plan_of(std::string_view framework, int workers) {
  TrainPlan plan;
  plan.framework = find_framework(framework);
  plan.name = "mnist-x";
  plan.ns = "default";
  plan.image = "any";
  plan.workers = workers;
  plan.arguments = {"--epochs", "2"};
  plan.files.script = "/workspace/mnist.py";
  return plan;
}

const json::Value& role(const json::Value& job, std::string_view member, std::string_view name) {
  return *json::find_path(job, {"spec", member, name});
}

TEST(TrainJob, CountsTheMasterAmongTheWorkers) {
  json::Value job = train_job(plan_of("torch", 3));
  EXPECT_EQ(json::string_at(job, {"kind"}), "PyTorchJob");
  EXPECT_EQ(json::int_at(role(job, "pytorchReplicaSpecs", "Master"), {"replicas"}), 1);
  EXPECT_EQ(json::int_at(role(job, "pytorchReplicaSpecs", "Worker"), {"replicas"}), 2);
  EXPECT_EQ(json::string_at(job, {"spec", "nprocPerNode"}), "1");
  json::Value alone = train_job(plan_of("xgboost", 1));
  EXPECT_EQ(json::find_path(alone, {"spec", "xgbReplicaSpecs", "Worker"}), nullptr);
}

TEST(TrainJob, LaunchesEachFrameworkItsWay) {
  auto command = [](std::string_view framework, std::string_view member, std::string_view name) {
    const json::Value job = train_job(plan_of(framework, 2));
    const json::Array& containers =
        *json::array_at(role(job, member, name), {"template", "spec", "containers"});
    const json::Value* words = json::find(containers[0], "command");
    return words ? json::serialize(*words) : "";
  };
  EXPECT_EQ(command("jax", "jaxReplicaSpecs", "Worker"),
            R"(["python3","-u","/workspace/mnist.py","--epochs","2"])");
  EXPECT_EQ(
      command("torch", "pytorchReplicaSpecs", "Master"),
      R"(["python3","-u","-m","torch.distributed.run","/workspace/mnist.py","--epochs","2"])");
  EXPECT_EQ(command("mpi", "mpiReplicaSpecs", "Launcher"),
            R"(["mpirun","--allow-run-as-root","-np","2","-x","PATH","python3","-u",)"
            R"("/workspace/mnist.py","--epochs","2"])");
  EXPECT_EQ(command("mpi", "mpiReplicaSpecs", "Worker"), "");
}

TEST(TrainJob, AsksForWhatItIsTold) {
  TrainPlan plan = plan_of("tensorflow", 2);
  plan.queue = "team";
  plan.gpus = 2;
  plan.cpu = "500m";
  plan.files.venv = "/opt/env";
  plan.files.user = 1000;
  plan.files.group = 100;
  const json::Value job = train_job(plan);
  EXPECT_EQ(json::string_at(job, {"spec", "runPolicy", "schedulingPolicy", "queue"}), "team");
  const json::Value& spec =
      *json::find_path(role(job, "tfReplicaSpecs", "Worker"), {"template", "spec"});
  EXPECT_EQ(json::serialize(*json::find(spec, "securityContext")),
            R"({"runAsUser":1000,"runAsGroup":100})");
  const json::Value& container = json::array_at(spec, {"containers"})->front();
  EXPECT_EQ(json::serialize(*json::find(container, "resources")),
            R"({"requests":{"cpu":"500m"},"limits":{"nvidia.com/gpu":2}})");
  EXPECT_EQ(json::array_at(container, {"command"})->front().as_string(), "/opt/env/bin/python3");
}

TEST(TrainJob, NamesAreLabels) {
  EXPECT_EQ(job_name_of("/a/My MNIST_2.py", "x7k2p"), "my-mnist-2-x7k2p");
  EXPECT_EQ(job_name_of("2.py", "x7k2p"), "train-x7k2p");
  EXPECT_EQ(job_name_of(std::string(80, 'a') + ".py", "x"), std::string(30, 'a') + "-x");
}

TEST(TrainFiles, ClaimsHoldTheScriptOnAnotherCluster) {
  Result<ClusterFiles> made = cluster_files(
      {.script = "code/train.py", .venv = "/opt/env", .output = "out", .claim = "data"}, "ns", "j");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->directory);
  EXPECT_EQ(made->files.script, "/workspace/code/train.py");
  EXPECT_EQ(json::serialize(made->files.mounts),
            R"([{"name":"workspace","mountPath":"/workspace"},)"
            R"({"name":"workspace","mountPath":"/output","subPath":"out"}])");
  EXPECT_FALSE(cluster_files({.script = "/no/such.py"}, "ns", "j"));
  EXPECT_FALSE(local_files({.script = "/tmp"}, false));
}

}  // namespace
}  // namespace hekla::cli
