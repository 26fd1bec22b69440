// mutatepodgroup.volcano.sh: a group in the default queue goes to its namespace's own queue, if the
// namespace names one.
#include "admission/step.h"
#include "model/volcano.h"

namespace hekla::admission {
namespace {

Result<void> mutate_pod_group(const Settings&, const kube::AdmissionRequest& request,
                              json::Value& group) {
  if (!is_left_out(group, {"spec", "queue"}) &&
      json::string_at(group, {"spec", "queue"}) != "default")
    return {};
  Result<kube::SharedValue> ns =
      request.reader->get(kube::resources::namespaces, kube::Key{"", request.key.ns});
  // Without a namespace the request fails elsewhere.
  std::string_view own =
      ns ? json::string_at(**ns, {"metadata", "annotations", model::keys::queue_name}) : "";
  if (!own.empty()) json::at_path(group, {"spec", "queue"}) = own;
  return {};
}

}  // namespace

extern const Step step_podgroups_mutate;
const Step step_podgroups_mutate{
    .name = "mutatepodgroup.volcano.sh",
    .path = "/podgroups/mutate",
    .resources = {&kube::resources::pod_groups},
    .when = Step::When::create,
    .mutate = mutate_pod_group,
};

}  // namespace hekla::admission
