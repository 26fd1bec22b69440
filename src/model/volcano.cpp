#include "model/volcano.h"

namespace hekla::model {
namespace {

// The wire members; "template" is a keyword and has another name in the struct.
template <class Task, class Each>
void for_each_task_member(Task& task, Each&& each) {
  each("name", task.name);
  each("replicas", task.replicas);
  each("minAvailable", task.minAvailable);
  each("template", task.podTemplate);
  each("policies", task.policies);
  each("topologyPolicy", task.topologyPolicy);
  each("maxRetry", task.maxRetry);
  each("dependsOn", task.dependsOn);
  each("partitionPolicy", task.partitionPolicy);
}

}  // namespace

Result<TaskSpec> TaskSpec::from_node(const json::Node& node) {
  TaskSpec task;
  if (!node.is_object()) return json::detail::wrong_kind("object", node);
  Result<void> done;
  for_each_task_member(task, [&](std::string_view name, auto& member) {
    if (done) done = json::decode_member(node, name, member);
  });
  if (!done) return std::unexpected(std::move(done).error());
  return task;
}

json::Value TaskSpec::to_json() const {
  json::Object object;
  for_each_task_member(*this, [&](std::string_view name, const auto& member) {
    json::encode_member(object, name, member);
  });
  return object;
}

}  // namespace hekla::model

JSON_CODEC_DEFINE(hekla::model::TaskSpec);
JSON_CODEC_DEFINE(hekla::model::VcJobSpec);
JSON_CODEC_DEFINE(hekla::model::VcJobStatus);
JSON_CODEC_DEFINE(hekla::model::VcJob);
JSON_CODEC_DEFINE(hekla::model::PodGroupSpec);
JSON_CODEC_DEFINE(hekla::model::PodGroupStatus);
JSON_CODEC_DEFINE(hekla::model::PodGroup);
JSON_CODEC_DEFINE(hekla::model::QueueStatus);
JSON_CODEC_DEFINE(hekla::model::Queue);
JSON_CODEC_DEFINE(hekla::model::Command);
JSON_CODEC_DEFINE(std::vector<hekla::model::LifecyclePolicy>);
