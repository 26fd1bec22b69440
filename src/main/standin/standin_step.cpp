#include "main/standin/standin_step.h"

#include "main/standin/shown_workloads.h"

#include "model/in_process.h"

namespace hekla {
namespace {

// As a label it lets informers ask for stand-ins alone.
const std::string& mark() { return model::kInProcess; }

void set_mark(json::Value& pod, std::string_view list, std::string_view value) {
  if (!value.empty()) {
    json::at_path(pod, {"metadata", list, mark()}) = value;
    return;
  }
  if (!json::find_path(pod, {"metadata", list, mark()})) return;
  json::Object& all = json::at_path(pod, {"metadata", list}).get_object();
  all.erase(mark());
}

// Drops from a pod what a real container would need and a part of this process does not.
void make_free(json::Value& spec) {
  for (std::string_view list : {"containers", "initContainers"})
    if (json::Value* all = spec.get_object().if_contains(list); all && all->is_array())
      for (json::Value& container : all->get_array())
        if (container.is_object()) container.get_object().erase("resources");
  for (std::string_view member :
       {"resources", "overhead", "nodeSelector", "affinity", "topologySpreadConstraints",
        "runtimeClassName", "schedulingGates"})
    spec.get_object().erase(member);
  json::Value& tolerations = json::at_path(spec, {"tolerations"});
  if (!tolerations.is_array()) tolerations = json::Array();
  tolerations.get_array().push_back(json::Object{{"operator", "Exists"}});
}

}  // namespace

kube::AdmissionStep standin_step(const ComponentTable& table, const StandInNode& node) {
  kube::AdmissionStep step;
  step.name = "standin.hekla.io";
  step.matches = [](const kube::Resource& resource, kube::Operation operation,
                    std::string_view subresource) {
    if (resource == kube::resources::deployments)
      return subresource.empty() &&
             (operation == kube::Operation::create || operation == kube::Operation::update);
    return resource == kube::resources::pods && subresource.empty() &&
           (operation == kube::Operation::create || operation == kube::Operation::update);
  };
  step.mutate = [&table, &node](const kube::AdmissionRequest& request,
                                json::Value& pod) -> Result<void> {
    if (request.resource == kube::resources::deployments) {
      settle_ownership(request.old_object, pod);
      return {};
    }
    if (request.operation == kube::Operation::update) {
      for (std::string_view list : {"annotations", "labels"})
        set_mark(pod, list,
                 request.old_object
                     ? json::string_at(*request.old_object, {"metadata", list, mark()})
                     : "");
      return {};
    }
    const Component* component = table.recognise(request.key.ns, pod);
    for (std::string_view list : {"annotations", "labels"})
      set_mark(pod, list, component ? std::string_view(component->name) : std::string_view());
    if (!component) return {};
    json::Value& spec = json::at_path(pod, {"spec"});
    make_free(spec);
    if (std::string name = node.get(); !name.empty()) json::at_path(spec, {"nodeName"}) = name;
    return {};
  };
  return step;
}

}  // namespace hekla
