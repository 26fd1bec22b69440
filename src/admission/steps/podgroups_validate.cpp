// validatepodgroup.volcano.sh: the queue must be there and open, and a network topology names its
// limit in one way only.
#include "admission/job_spec.h"
#include "admission/step.h"
#include "admission/text.h"

namespace hekla::admission {
namespace {

std::string queue_error(const kube::AdmissionReader& reader, const std::string& name) {
  if (name.empty()) return {};
  Result<model::Queue> queue = find_queue(reader, name);
  if (!queue) return "unable to find queue: " + queue.error().message;
  if (is_open(*queue)) return {};
  return "can only submit PodGroup to queue with state `Open`, queue `" + name + "` status is `" +
         queue->status.state + "`. ";
}

Result<void> validate_pod_group(const Settings&, const kube::AdmissionRequest& request,
                                const json::Value& object) {
  Result<model::PodGroup> group = json::decode<model::PodGroup>(object);
  if (!group) return fail(Code::bad_request, group.error().message);
  std::string errors;
  errors = queue_error(*request.reader, group->spec.queue);
  std::string conflict = topology_conflict(group->spec.networkTopology);
  if (!conflict.empty()) errors += conflict + ".";
  for (const model::SubGroupPolicy& policy : group->spec.subGroupPolicy) {
    conflict = topology_conflict(policy.networkTopology);
    if (conflict.empty()) continue;
    if (!errors.empty() && !errors.ends_with(' ')) errors += " ";
    errors += "in subGroupPolicy '" + policy.name + "': " + conflict + ".";
    break;
  }
  return deny_if(errors);
}

}  // namespace

extern const Step step_podgroups_validate;
const Step step_podgroups_validate{
    .name = "validatepodgroup.volcano.sh",
    .path = "/podgroups/validate",
    .resources = {&kube::resources::pod_groups},
    .when = Step::When::create,
    .validate = validate_pod_group,
};

}  // namespace hekla::admission
