#include "controllers/crds.h"

#include <gtest/gtest.h>

#include <map>

#include "json/parse.h"
#include "kube/client.h"

namespace hekla::controllers {
namespace {

std::map<std::string, json::Value> definitions() {
  std::map<std::string, json::Value> found;
  for (std::string_view text : crd_yamls()) {
    Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(text);
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (!parsed) continue;
    EXPECT_EQ(parsed->size(), 1u);
    const json::Value& crd = parsed->front().value;
    found[std::string(json::string_at(crd, {"metadata", "name"}))] = crd;
  }
  return found;
}

std::string columns(const json::Value& crd) {
  const json::Value& version = json::array_at(crd, {"spec", "versions"})->at(0);
  std::string names;
  if (const json::Array* list = json::array_at(version, {"additionalPrinterColumns"}))
    for (const json::Value& column : *list)
      names += std::string(json::string_at(column, {"name"})) +
               (json::int_at(column, {"priority"}) > 0 ? "(wide) " : " ");
  return names;
}

// What kubectl explain begins with.
TEST(Crds, SayWhatTheyAre) {
  for (const auto& [name, crd] : definitions())
    for (const json::Value& version : *json::array_at(crd, {"spec", "versions"}))
      EXPECT_NE(json::string_at(version, {"schema", "openAPIV3Schema", "description"}), "") << name;
}

TEST(Crds, DefineTheKindsTheClientKnows) {
  std::map<std::string, json::Value> crds = definitions();
  namespace resources = kube::resources;
  for (const kube::Resource* one : {&resources::vcjobs,
                                    &resources::pod_groups,
                                    &resources::queues,
                                    &resources::commands,
                                    &resources::job_flows,
                                    &resources::job_templates,
                                    &resources::vc_cron_jobs,
                                    &resources::hyper_nodes,
                                    &resources::numatopologies,
                                    &resources::node_shards,
                                    &resources::tf_jobs,
                                    &resources::pytorch_jobs,
                                    &resources::mpi_jobs,
                                    &resources::xgboost_jobs,
                                    &resources::paddle_jobs,
                                    &resources::jax_jobs,
                                    &resources::mx_jobs,
                                    &resources::train_jobs,
                                    &resources::training_runtimes,
                                    &resources::cluster_training_runtimes,
                                    &resources::job_sets}) {
    auto crd = crds.find(one->plural + "." + one->group);
    ASSERT_NE(crd, crds.end()) << one->plural;
    EXPECT_EQ(json::string_at(crd->second, {"spec", "names", "kind"}), one->kind);
    EXPECT_EQ(json::string_at(crd->second, {"spec", "scope"}),
              one->namespaced ? "Namespaced" : "Cluster");
    const json::Value& version = json::array_at(crd->second, {"spec", "versions"})->at(0);
    EXPECT_EQ(json::string_at(version, {"name"}), one->version);
    EXPECT_TRUE(json::bool_at(version, {"served"}) && json::bool_at(version, {"storage"}));
    EXPECT_TRUE(json::object_at(version, {"schema", "openAPIV3Schema", "properties"}));
  }
  // Kinds that are stored, and that nothing here acts on.
  for (const char* name :
       {"colocationconfigurations.config.volcano.sh", "hyperjobs.training.volcano.sh",
        "datasources.datadependency.volcano.sh", "datasourceclaims.datadependency.volcano.sh"})
    EXPECT_TRUE(crds.contains(name)) << name;
  EXPECT_EQ(crds.size(), 33u);
}

TEST(Crds, PrintTheColumnsOfTheTutorials) {
  std::map<std::string, json::Value> crds = definitions();
  EXPECT_EQ(columns(crds["jobs.batch.volcano.sh"]),
            "STATUS minAvailable RUNNINGS AGE QUEUE(wide) ");
  EXPECT_EQ(columns(crds["podgroups.scheduling.volcano.sh"]),
            "STATUS minMember RUNNINGS AGE QUEUE(wide) ");
  EXPECT_EQ(columns(crds["queues.scheduling.volcano.sh"]), "AGE PARENT ");
}

TEST(Crds, PrintTheColumnsOfKubeflow) {
  std::map<std::string, json::Value> crds = definitions();
  for (const char* name :
       {"tfjobs.kubeflow.org", "pytorchjobs.kubeflow.org", "xgboostjobs.kubeflow.org",
        "paddlejobs.kubeflow.org", "jaxjobs.kubeflow.org", "mxjobs.kubeflow.org",
        "trainjobs.trainer.kubeflow.org"})
    EXPECT_EQ(columns(crds[name]), "State Age ") << name;
  EXPECT_EQ(columns(crds["mpijobs.kubeflow.org"]), "Age State ");
  EXPECT_EQ(columns(crds["jobsets.jobset.x-k8s.io"]),
            "TerminalState Restarts Completed Suspended Age ");
  for (const char* name :
       {"trainingruntimes.trainer.kubeflow.org", "clustertrainingruntimes.trainer.kubeflow.org"})
    EXPECT_EQ(columns(crds[name]), "") << name;
}

std::string served_versions(const json::Value& crd) {
  std::string names;
  for (const json::Value& version : *json::array_at(crd, {"spec", "versions"}))
    if (json::bool_at(version, {"served"}))
      names += std::string(json::string_at(version, {"name"})) +
               (json::bool_at(version, {"storage"}) ? "(stored) " : " ");
  return names;
}

TEST(Crds, ServeTheVersionsOfTheTutorials) {
  std::map<std::string, json::Value> crds = definitions();
  EXPECT_EQ(served_versions(crds["tfjobs.kubeflow.org"]),
            "v1(stored) v1beta2 v1beta1 v1alpha2 v1alpha1 ");
  EXPECT_EQ(served_versions(crds["mpijobs.kubeflow.org"]), "v1(stored) v2beta1 ");
  EXPECT_EQ(served_versions(crds["notebooks.kubeflow.org"]), "v1(stored) v1beta1 v1alpha1 ");
  EXPECT_EQ(served_versions(crds["profiles.kubeflow.org"]), "v1(stored) v1beta1 ");
  EXPECT_EQ(served_versions(crds["poddefaults.kubeflow.org"]), "v1alpha1(stored) ");
  EXPECT_EQ(served_versions(crds["virtualservices.networking.istio.io"]),
            "v1alpha3(stored) v1beta1 v1 ");
  EXPECT_EQ(served_versions(crds["jobsets.jobset.x-k8s.io"]), "v1alpha2(stored) ");
}

TEST(Crds, ScaleByTheWorkers) {
  std::map<std::string, json::Value> crds = definitions();
  for (const auto& [name, map] : {std::pair{"pytorchjobs.kubeflow.org", "pytorchReplicaSpecs"},
                                  std::pair{"paddlejobs.kubeflow.org", "paddleReplicaSpecs"},
                                  std::pair{"jaxjobs.kubeflow.org", "jaxReplicaSpecs"}}) {
    const json::Value& version = json::array_at(crds[name], {"spec", "versions"})->at(0);
    const json::Value* scale = json::find_path(version, {"subresources", "scale"});
    ASSERT_TRUE(scale) << name;
    EXPECT_EQ(json::string_at(*scale, {"specReplicasPath"}),
              ".spec." + std::string(map) + ".Worker.replicas");
    EXPECT_EQ(json::string_at(*scale, {"statusReplicasPath"}),
              ".status.replicaStatuses.Worker.active");
    EXPECT_EQ(json::string_at(*scale, {"labelSelectorPath"}),
              ".status.replicaStatuses.Worker.selector");
  }
  for (const char* name :
       {"tfjobs.kubeflow.org", "xgboostjobs.kubeflow.org", "mpijobs.kubeflow.org"})
    EXPECT_FALSE(json::find_path(json::array_at(crds[name], {"spec", "versions"})->at(0),
                                 {"subresources", "scale"}))
        << name;
}

TEST(Crds, AHyperNodeSelectsByTextsThatAreNotEmpty) {
  std::map<std::string, json::Value> crds = definitions();
  const json::Value& version =
      json::array_at(crds["hypernodes.topology.volcano.sh"], {"spec", "versions"})->at(0);
  const json::Value* selector =
      json::find_path(version, {"schema", "openAPIV3Schema", "properties", "spec", "properties",
                                "members", "items", "properties", "selector", "properties"});
  ASSERT_TRUE(selector);
  EXPECT_EQ(json::int_at(*selector, {"exactMatch", "properties", "name", "minLength"}), 1);
  EXPECT_EQ(json::int_at(*selector, {"regexMatch", "properties", "pattern", "minLength"}), 1);
}

TEST(Crds, KeepTheStatusOfAPodGroupInTheObject) {
  std::map<std::string, json::Value> crds = definitions();
  auto has_status = [&](const char* name) {
    const json::Value& version = json::array_at(crds[name], {"spec", "versions"})->at(0);
    return json::find_path(version, {"subresources", "status"}) != nullptr;
  };
  EXPECT_FALSE(has_status("podgroups.scheduling.volcano.sh"));
  EXPECT_TRUE(has_status("jobs.batch.volcano.sh"));
  EXPECT_TRUE(has_status("queues.scheduling.volcano.sh"));
}

}  // namespace
}  // namespace hekla::controllers
