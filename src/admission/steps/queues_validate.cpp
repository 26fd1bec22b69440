// validatequeue.volcano.sh: amounts that make sense, a place in the tree that works, and no removal
// of queues others depend on. Any weight from 1 to 2^31-1 is accepted; Volcano's schema ends at
// 65535.
#include <cmath>
#include <cstdlib>

#include "admission/queue_tree.h"
#include "admission/step.h"
#include "admission/text.h"

namespace hekla::admission {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void check_amounts(const model::ResourceList& list, const std::string& path,
                   std::vector<std::string>& errors) {
  for (const auto& [name, quantity] : list)
    if (quantity < model::Quantity{})
      errors.push_back(
          invalid_field(path + "." + name, quantity.text(), "must be greater than or equal to 0"));
}

// guarantee <= deserved <= capability.
void check_order(const model::QueueSpec& spec, std::vector<std::string>& errors) {
  auto bracket = [](const char* what, const std::string& name) {
    return std::string(what) + "[" + name + "]";
  };
  for (const auto& [name, guaranteed] : spec.guarantee.resource) {
    std::string path = "requestBody.spec.deserved." + name;
    std::string least = " must be >= " + bracket("guarantee", name) + "=" + guaranteed.text();
    auto deserved = spec.deserved.find(name);
    if (deserved == spec.deserved.end())
      errors.push_back(invalid_field(path, "<nil>", bracket("deserved", name) + least));
    else if (deserved->second < guaranteed)
      errors.push_back(
          invalid_field(path, deserved->second.text(),
                        bracket("deserved", name) + "=" + deserved->second.text() + least));
  }
  for (const auto& [name, deserved] : spec.deserved) {
    auto capability = spec.capability.find(name);
    if (capability == spec.capability.end() || deserved <= capability->second) continue;
    errors.push_back(invalid_field("requestBody.spec.deserved." + name, deserved.text(),
                                   bracket("deserved", name) + "=" + deserved.text() +
                                       " must be <= " + bracket("capability", name) + "=" +
                                       capability->second.text()));
  }
}

std::string hierarchy_error(const model::Queue& queue, const std::vector<model::Queue>& all) {
  const std::string path = "requestBody.metadata.annotations";
  const std::string& hierarchy = queue.metadata.annotation(std::string(kHierarchyAnnotation));
  const std::string& weights = queue.metadata.annotation(std::string(kHierarchyWeightsAnnotation));
  if (hierarchy.empty() && weights.empty()) return {};
  if (split(hierarchy).size() != split(weights).size())
    return invalid_field(path, hierarchy,
                         std::string(kHierarchyAnnotation) + " must have the same length with " +
                             std::string(kHierarchyWeightsAnnotation));
  for (const std::string& weight : split(weights)) {
    char* end = nullptr;
    double value = std::strtod(weight.c_str(), &end);
    if (weight.empty() || *end != '\0')
      return invalid_field(path, weights,
                           weight + " in the " + weights +
                               " is invalid number: strconv.ParseFloat: parsing " + quoted(weight) +
                               ": invalid syntax");
    if (!(value > 0))
      return invalid_field(path, weights, weight + " in the " + weights + " must be larger than 0");
  }
  for (const model::Queue& other : all) {
    const std::string& theirs = other.metadata.annotation(std::string(kHierarchyAnnotation));
    if (other.metadata.name != queue.metadata.name && theirs.starts_with(hierarchy + "/"))
      return invalid_field(path, hierarchy,
                           hierarchy + " is not allowed to be in the sub path of " + theirs +
                               " of queue " + other.metadata.name);
  }
  return {};
}

std::string spec_errors(const model::Queue& queue, bool creating,
                        const std::vector<model::Queue>& all) {
  std::vector<std::string> errors;
  check_amounts(queue.spec.capability, "requestBody.spec.capability", errors);
  check_amounts(queue.spec.deserved, "requestBody.spec.deserved", errors);
  check_amounts(queue.spec.guarantee.resource, "requestBody.spec.guarantee.resource", errors);
  check_order(queue.spec, errors);
  // Later the state belongs to the controller: a queue that is Closing can still be edited.
  const std::string& state = queue.status.state;
  if (creating && !state.empty() && state != "Open" && state != "Closed")
    errors.push_back(
        invalid_field("requestBody.spec.state", state, "queue state must be in [Open Closed]"));
  if (std::string error = hierarchy_error(queue, all); !error.empty()) errors.push_back(error);
  return errors.empty() ? std::string() : aggregated(errors);
}

// Volcano 1.15's capacity plugin counts the devices of claims against these; ours does not, and a
// limit that limits nothing must not go unnoticed.
void warn_of_device_quotas(const model::QueueSpec& spec, std::vector<std::string>* warnings) {
  if (!warnings) return;
  auto look = [&](const model::ResourceList& list, std::string_view field) {
    for (const auto& [name, quantity] : list)
      if (name.starts_with("deviceclass/") || name.find(".deviceclass/") != std::string::npos)
        warnings->push_back("spec." + std::string(field) + "[" + name +
                            "] has no effect: devices of resource claims are not counted");
  };
  look(spec.capability, "capability");
  look(spec.deserved, "deserved");
  look(spec.guarantee.resource, "guarantee.resource");
}

bool same_resources(const model::QueueSpec& a, const model::QueueSpec& b) {
  return a.capability == b.capability && a.deserved == b.deserved &&
         a.guarantee.resource == b.guarantee.resource;
}

Result<std::vector<model::Queue>> all_queues(const kube::AdmissionRequest& request) {
  std::vector<model::Queue> queues;
  for (const kube::SharedValue& value : TRY(request.reader->list(kube::resources::queues, "")))
    queues.push_back(TRY(json::decode<model::Queue>(*value)));
  return queues;
}

Result<void> validate_removal(const Settings& settings, const std::string& name,
                              const QueueTree& tree) {
  if (name == "default" || name == "root")
    return fail(Code::bad_request, "`" + name + "` queue can not be deleted");
  const model::Queue* queue = tree.find(name);
  if (settings.queue_allocated_pods_check && queue && allocated_pods(*queue) > 0)
    return fail(Code::bad_request, "queue " + name +
                                       " cannot be deleted because it has allocated Pods: " +
                                       std::to_string(allocated_pods(*queue)));
  std::vector<const model::Queue*> children = tree.children(name);
  if (children.empty()) return {};
  std::string names;
  for (const model::Queue* child : children)
    names += (names.empty() ? "" : ", ") + child->metadata.name;
  return fail(Code::bad_request, "queue " + name + " can not be deleted because it has " +
                                     std::to_string(children.size()) + " child queues: " + names);
}

Result<void> validate_queue(const Settings& settings, const kube::AdmissionRequest& request,
                            const json::Value& object) {
  std::vector<model::Queue> all = TRY(all_queues(request));
  if (request.operation == kube::Operation::remove)
    return validate_removal(settings, request.key.name,
                            QueueTree(std::move(all), settings.queue_depth_max));
  Result<model::Queue> decoded = json::decode<model::Queue>(object);
  if (!decoded) return fail(Code::bad_request, decoded.error().message);
  const model::Queue& queue = *decoded;
  bool creating = request.operation == kube::Operation::create;
  std::optional<model::Queue> old;
  if (!creating && request.old_object) {
    Result<model::Queue> before = json::decode<model::Queue>(*request.old_object);
    if (!before) return fail(Code::bad_request, before.error().message);
    old = std::move(*before);
  }
  TRY(deny_if(spec_errors(queue, creating, all)));
  QueueTree tree(std::move(all), settings.queue_depth_max);
  bool moved = !old || old->spec.parent != queue.spec.parent;
  if (moved) TRY(deny_if(tree.parent_error(queue)));
  bool resized = !old || !same_resources(old->spec, queue.spec);
  if (settings.root_queue_protection && old && resized && queue.metadata.name == "root")
    return fail(
        Code::bad_request,
        "root queue's resource attributes (capability, deserved, guarantee) cannot be modified");
  if (moved || resized) TRY(deny_if(tree.resource_error(queue)));
  warn_of_device_quotas(queue.spec, request.warnings);
  return {};
}

}  // namespace

extern const Step step_queues_validate;
const Step step_queues_validate{
    .name = "validatequeue.volcano.sh",
    .path = "/queues/validate",
    .resources = {&kube::resources::queues},
    .when = Step::When::any,
    .validate = validate_queue,
};

}  // namespace hekla::admission
