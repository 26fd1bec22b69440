#include "cli/workbench/notebook_object.h"

#include <gtest/gtest.h>

namespace hekla::cli {
namespace {

const json::Value& pod_of(const json::Value& notebook) {
  return *json::find_path(notebook, {"spec", "template", "spec"});
}

TEST(NotebookObject, HasAHomeOfItsOwn) {
  const json::Value notebook = *notebook_object({"team", "lab"}, {});
  const json::Value& pod = pod_of(notebook);
  EXPECT_EQ(json::serialize(pod.at("volumes")),
            R"([{"name":"dshm","emptyDir":{"medium":"Memory"}},)"
            R"({"name":"lab-workspace","persistentVolumeClaim":{"claimName":"lab-workspace"}}])");
  EXPECT_EQ(json::string_at(pod, {"serviceAccountName"}), "default-editor");
  const json::Value& container = pod.at("containers").at(0);
  EXPECT_EQ(json::serialize(container.at("volumeMounts")),
            R"([{"name":"dshm","mountPath":"/dev/shm"},)"
            R"({"name":"lab-workspace","mountPath":"/home/jovyan"}])");
  EXPECT_EQ(json::serialize(container.at("resources")),
            R"({"requests":{"cpu":"0.5","memory":"1Gi"}})");
  const json::Value claim = workspace_claim("lab", {});
  EXPECT_EQ(json::string_at(claim, {"metadata", "name"}), "lab-workspace");
  EXPECT_EQ(json::string_at(claim, {"spec", "resources", "requests", "storage"}), "5Gi");
}

TEST(NotebookObject, HasWhatWasAskedFor) {
  NotebookWishes wishes;
  wishes.workspace = "none";
  wishes.gpus = 2;
  wishes.volumes = {"data:/data:ro", "more:/more"};
  wishes.configurations = {"access-ml-pipeline"};
  const json::Value notebook = *notebook_object({"team", "lab"}, wishes);
  const json::Value& container = pod_of(notebook).at("containers").at(0);
  EXPECT_EQ(json::serialize(container.at("volumeMounts")),
            R"([{"name":"dshm","mountPath":"/dev/shm"},)"
            R"({"name":"data","mountPath":"/data","readOnly":true},)"
            R"({"name":"more","mountPath":"/more"}])");
  EXPECT_EQ(json::string_at(container, {"resources", "limits", "nvidia.com/gpu"}), "2");
  EXPECT_EQ(json::string_at(notebook, {"metadata", "labels", "access-ml-pipeline"}), "true");
}

TEST(NotebookObject, RefusesVolumesThatNameNoPlace) {
  for (const char* wish : {"data", ":/data", "data:data"}) {
    NotebookWishes wishes;
    wishes.volumes = {wish};
    Result<json::Object> made = notebook_object({"team", "lab"}, wishes);
    ASSERT_FALSE(made) << wish;
    EXPECT_EQ(made.error().message,
              "--volume " + std::string(wish) + ": expected CLAIM:/PATH or CLAIM:/PATH:ro");
  }
}

}  // namespace
}  // namespace hekla::cli
