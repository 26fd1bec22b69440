// mutatequeue.volcano.sh: what a queue leaves out. The parent is filled in here rather than by the
// controller, so that a new queue keeps its first generation.
#include "admission/queue_tree.h"
#include "admission/step.h"

namespace hekla::admission {
namespace {

void root_hierarchy(json::Value& queue) {
  std::string path(json::string_at(queue, {"metadata", "annotations", kHierarchyAnnotation}));
  std::string weights(
      json::string_at(queue, {"metadata", "annotations", kHierarchyWeightsAnnotation}));
  if (path.empty() || weights.empty() || path == "root" || path.starts_with("root/")) return;
  json::at_path(queue, {"metadata", "annotations", kHierarchyAnnotation}) = "root/" + path;
  json::at_path(queue, {"metadata", "annotations", kHierarchyWeightsAnnotation}) = "1/" + weights;
}

Result<void> mutate_queue(const Settings&, const kube::AdmissionRequest& request,
                          json::Value& queue) {
  json::Value& spec = json::at_path(queue, {"spec"});
  if (spec.is_null()) spec = json::Object();
  if (!spec.is_object()) return {};
  json::Object& members = spec.get_object();
  if (is_left_out(spec, {"parent"})) {
    if (json::string_at(queue, {"metadata", "name"}) == "root")
      members.erase("parent");
    else
      members["parent"] = "root";
  }
  if (request.operation != kube::Operation::create) return {};
  json::Value& weight = members["weight"];
  if (weight.is_null() || (weight.is_number() && weight.to_number<double>() == 0)) weight = 1;
  json::Value& reclaimable = members["reclaimable"];
  if (reclaimable.is_null()) reclaimable = true;
  root_hierarchy(queue);
  return {};
}

}  // namespace

extern const Step step_queues_mutate;
const Step step_queues_mutate{
    .name = "mutatequeue.volcano.sh",
    .path = "/queues/mutate",
    .resources = {&kube::resources::queues},
    .when = Step::When::create_or_update,
    .mutate = mutate_queue,
};

}  // namespace hekla::admission
