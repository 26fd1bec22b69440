#include "controllers/volcano/job/plugin.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "json/parse.h"

namespace hekla::controllers {
namespace {

model::VcJob job_of(const std::string& spec) {
  Result<std::vector<json::YamlDocument>> parsed =
      json::parse_yaml("{metadata: {name: j, namespace: ns, uid: u}, spec: " + spec + "}");
  EXPECT_TRUE(parsed) << parsed.error().message;
  Result<model::VcJob> job = json::decode<model::VcJob>(parsed->front().value);
  EXPECT_TRUE(job) << job.error().message;
  return *job;
}

// The pod of a role after the job's plugins.
json::Value pod_of(const model::VcJob& job, std::size_t task, std::int32_t index) {
  json::Value pod = json::Object{
      {"metadata",
       json::Object{{"name", "j-" + job.spec.tasks[task].name + "-" + std::to_string(index)}}},
      {"spec", *json::find(job.spec.tasks[task].podTemplate, "spec")}};
  Result<std::vector<ActivePlugin>> plugins = make_plugins(job.spec);
  EXPECT_TRUE(plugins) << plugins.error().message;
  for (const ActivePlugin& active : *plugins) {
    Result<void> done =
        active.plugin->on_pod_create(PodPlace{job, job.spec.tasks[task], index}, pod);
    EXPECT_TRUE(done) << done.error().message;
  }
  return pod;
}

std::string env_of(const json::Value& pod, std::string_view name) {
  const json::Value& container = json::array_at(pod, {"spec", "containers"})->at(0);
  if (const json::Array* env = json::array_at(container, {"env"}))
    for (const json::Value& variable : *env)
      if (json::string_at(variable, {"name"}) == name)
        return std::string(json::string_at(variable, {"value"}));
  return "<none>";
}

const std::string kPod = "template: {spec: {containers: [{name: c, image: i}]}}";

TEST(Plugins, AreFoundByName) {
  for (const char* name : {"env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow"})
    EXPECT_TRUE(find_job_plugin(name)) << name;
  EXPECT_EQ(all_job_plugins().size(), 8u);
  EXPECT_FALSE(make_plugins(job_of("{plugins: {nope: []}}").spec));
}

TEST(PluginArguments, FollowGosFlags) {
  PluginArguments arguments({"--port=5000", "-master", "chief", "--wait", "--no=false", "-bad=x"});
  EXPECT_EQ(arguments.number("port", 1), 5000);
  EXPECT_EQ(arguments.text("master", "m"), "chief");
  EXPECT_TRUE(arguments.flag("wait", false));
  EXPECT_FALSE(arguments.flag("no", true));
  EXPECT_EQ(arguments.number("bad", 7), 7);
  EXPECT_EQ(arguments.text("absent", "d"), "d");
  PluginArguments keys({"-wait", "false", "--key", "-----BEGIN KEY-----", "-last"});
  EXPECT_TRUE(keys.flag("wait", false));
  EXPECT_EQ(keys.text("key", ""), "-----BEGIN KEY-----");
  EXPECT_EQ(keys.text("last", "d"), "d");
}

TEST(Tensorflow, TellsEachPodItsPlace) {
  model::VcJob job = job_of(
      "{plugins: {tensorflow: ['--port=1234', '--worker=w']}, tasks: [{name: ps, replicas: 1, " +
      kPod + "}, {name: w, replicas: 2, " + kPod + "}, {name: log, replicas: 1, " + kPod + "}]}");
  EXPECT_EQ(env_of(pod_of(job, 1, 1), "TF_CONFIG"),
            R"({"cluster":{"ps":["j-ps-0.j:1234"],"worker":["j-w-0.j:1234","j-w-1.j:1234"]},)"
            R"("task":{"type":"worker","index":1}})");
  EXPECT_TRUE(
      env_of(pod_of(job, 2, 0), "TF_CONFIG").ends_with(R"("task":{"type":"log","index":0}})"));
  model::VcJob single =
      job_of("{plugins: {tensorflow: []}, tasks: [{name: worker, replicas: 1, " + kPod + "}]}");
  EXPECT_EQ(env_of(pod_of(single, 0, 0), "TF_CONFIG"), "<none>");
}

TEST(Pytorch, NumbersTheRanks) {
  model::VcJob job = job_of(
      "{plugins: {pytorch: ['--wait-master-enabled=true']}, tasks: [{name: master, replicas: 1, " +
      kPod + "}, {name: worker, replicas: 2, " + kPod + "}]}");
  json::Value master = pod_of(job, 0, 0), worker = pod_of(job, 1, 1);
  EXPECT_EQ(env_of(master, "RANK"), "0");
  EXPECT_EQ(env_of(worker, "RANK"), "2");
  EXPECT_EQ(env_of(worker, "WORLD_SIZE"), "3");
  EXPECT_EQ(env_of(worker, "MASTER_ADDR"), "j-master-0.j");
  EXPECT_EQ(env_of(worker, "MASTER_PORT"), "23456");
  const json::Value& container = json::array_at(worker, {"spec", "containers"})->at(0);
  EXPECT_EQ(json::string_at(json::array_at(container, {"ports"})->at(0), {"name"}),
            "pytorchjob-port");
  ASSERT_TRUE(json::array_at(worker, {"spec", "initContainers"}));
  EXPECT_EQ(json::string_at(json::array_at(worker, {"spec", "initContainers"})->at(0), {"name"}),
            "wait-for-master");
  EXPECT_FALSE(json::array_at(master, {"spec", "initContainers"}));
  model::VcJob own = job_of(
      "{plugins: {pytorch: [--wait-master-enabled]}, tasks: [{name: master, replicas: 1, " + kPod +
      "}, {name: worker, replicas: 1, template: {spec: {initContainers: [{name: wait-for-master}], "
      "containers: [{name: c}]}}}]}");
  EXPECT_EQ(json::array_at(pod_of(own, 1, 0), {"spec", "initContainers"})->size(), 1u);
}

TEST(Mpi, GivesTheMasterItsWorkers) {
  model::VcJob job = job_of(
      "{plugins: {mpi: ['--master=m', '--worker', 'w', '--port=2200']}, tasks: [{name: m, "
      "replicas: 1, " +
      kPod + "}, {name: w, replicas: 2, " + kPod + "}]}");
  EXPECT_EQ(env_of(pod_of(job, 0, 0), "MPI_HOST"), "j-w-0.j,j-w-1.j");
  json::Value worker = pod_of(job, 1, 0);
  EXPECT_EQ(env_of(worker, "MPI_HOST"), "<none>");
  const json::Value& container = json::array_at(worker, {"spec", "containers"})->at(0);
  EXPECT_EQ(json::int_at(json::array_at(container, {"ports"})->at(0), {"containerPort"}), 2200);
  model::VcJob one_name = job_of(
      "{plugins: {mpi: []}, tasks: [{name: master, replicas: 1, " + kPod +
      "}, {name: worker, replicas: 2, template: {spec: {hostname: w, containers: [{name: c}]}}}]}");
  EXPECT_EQ(env_of(pod_of(one_name, 0, 0), "MPI_HOST"), "w.j");
}

TEST(Ssh, WritesKeysAndHosts) {
  model::VcJob job = job_of(
      "{plugins: {ssh: ['--ssh-key-file-path=/home/u/.ssh', '--ssh-private-key=priv', "
      "'--ssh-public-key=pub', '--ssh-port=70000']}, tasks: [{name: w, replicas: 2, " +
      kPod + "}]}");
  Result<std::vector<ActivePlugin>> plugins = make_plugins(job.spec);
  Result<std::vector<PluginObject>> objects = plugins->front().plugin->objects(job);
  ASSERT_TRUE(objects);
  const json::Value& secret = objects->front().body;
  EXPECT_EQ(json::string_at(secret, {"metadata", "name"}), "j-ssh");
  EXPECT_EQ(base64_decode(json::string_at(secret, {"data", "id_rsa"})), "priv");
  EXPECT_EQ(base64_decode(json::string_at(secret, {"data", "authorized_keys"})), "pub");
  EXPECT_EQ(base64_decode(json::string_at(secret, {"data", "config"})),
            "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nHost j-w-0\n  HostName "
            "j-w-0.j\n  Port "
            "22\nHost j-w-1\n  HostName j-w-1.j\n  Port 22\n");
  json::Value pod = pod_of(job, 0, 0);
  const json::Value& volume = json::array_at(pod, {"spec", "volumes"})->at(0);
  EXPECT_EQ(json::int_at(volume, {"secret", "defaultMode"}), 0644);
  const json::Value& container = json::array_at(pod, {"spec", "containers"})->at(0);
  EXPECT_EQ(json::string_at(json::array_at(container, {"volumeMounts"})->at(0), {"mountPath"}),
            "/home/u/.ssh");
}

TEST(Ssh, KeepsAPrivateKeyThatCameAlone) {
  model::VcJob job = job_of("{plugins: {ssh: ['--ssh-private-key', '-----BEGIN']}, tasks: []}");
  Result<std::vector<ActivePlugin>> plugins = make_plugins(job.spec);
  Result<std::vector<PluginObject>> objects = plugins->front().plugin->objects(job);
  ASSERT_TRUE(objects);
  EXPECT_EQ(base64_decode(json::string_at(objects->front().body, {"data", "id_rsa"})),
            "-----BEGIN");
}

TEST(Ray, StartsHeadAndWorkers) {
  model::VcJob job = job_of(
      "{plugins: {ray: []}, tasks: [{name: head, replicas: 1, template: {spec: {containers: "
      "[{name: head}]}}}, "
      "{name: worker, replicas: 1, template: {spec: {containers: [{name: worker}]}}}]}");
  auto command = [](const json::Value& pod) {
    return std::string(
        json::sv(json::array_at(json::array_at(pod, {"spec", "containers"})->at(0), {"command"})
                     ->at(2)
                     .get_string()));
  };
  EXPECT_EQ(command(pod_of(job, 0, 0)),
            "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265 "
            "--ray-client-server-port=10001");
  EXPECT_EQ(command(pod_of(job, 1, 0)), "ray start --block --address=j-head-0.j:6379");
  model::VcJob headless =
      job_of("{plugins: {ray: []}, tasks: [{name: w, replicas: 1, " + kPod + "}]}");
  Result<std::vector<ActivePlugin>> plugins = make_plugins(headless.spec);
  EXPECT_FALSE(plugins->front().plugin->objects(headless));
}

TEST(Hcclrank, CountsMastersFirst) {
  model::VcJob job = job_of("{plugins: {hcclrank: []}, tasks: [{name: master, replicas: 2, " +
                            kPod + "}, {name: worker, replicas: 2, " + kPod +
                            "}, {name: x, replicas: 1, " + kPod + "}]}");
  auto rank = [&](std::size_t task, int index) {
    json::Value pod = pod_of(job, task, index);
    return std::string(json::string_at(pod, {"metadata", "annotations", "hccl/rankIndex"}));
  };
  EXPECT_EQ(rank(0, 1), "1");
  EXPECT_EQ(rank(1, 1), "3");
  EXPECT_EQ(rank(2, 0), "");
}

}  // namespace
}  // namespace hekla::controllers
