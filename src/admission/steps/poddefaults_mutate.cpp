// PodDefaults of profiles' namespaces: what they bring goes into the pods they pick.
#include "admission/pod_defaults.h"
#include "admission/step.h"

namespace hekla::admission {
namespace {

Result<void> mutate(const Settings&, const kube::AdmissionRequest& request, json::Value& pod) {
  if (json::string_at(
          pod, {"metadata", "annotations", "poddefault.admission.kubeflow.org/exclude"}) == "true")
    return {};
  if (json::find_path(pod, {"metadata", "annotations", "kubernetes.io/config.mirror"})) return {};
  // Other namespaces than profiles' have none, as upstream's webhook is not asked there.
  Result<kube::SharedValue> ns =
      request.reader->get(kube::resources::namespaces, {"", request.key.ns});
  if (!ns || json::string_at(**ns, {"metadata", "labels", "app.kubernetes.io/part-of"}) !=
                 "kubeflow-profile")
    return {};
  const std::vector<kube::SharedValue> chosen =
      TRY(chosen_defaults(TRY(request.reader->list(pod_defaults, request.key.ns)), pod));
  if (chosen.empty()) return {};
  return apply_defaults(chosen, pod);
}

}  // namespace

extern const Step step_poddefaults_mutate;
const Step step_poddefaults_mutate{
    .name = "admission-webhook-deployment.kubeflow.org",
    .path = "/apply-poddefault",
    .resources = {&kube::resources::pods},
    .when = Step::When::create,
    .mutate = mutate,
};

}  // namespace hekla::admission
