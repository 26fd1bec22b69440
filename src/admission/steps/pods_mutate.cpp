// mutatepod.volcano.sh: the first resource group a pod belongs to sends it to its scheduler and its
// nodes. A configuration that cannot be read changes no pod and stops none; whoever creates one is
// warned.
#include "admission/resource_groups.h"
#include "admission/step.h"

namespace hekla::admission {
namespace {

// Empty when there is no configuration.
Result<std::string> configuration(const Settings& settings, const kube::AdmissionRequest& request) {
  if (settings.read_configuration) return settings.read_configuration();
  Result<kube::SharedValue> map = request.reader->get(
      kube::resources::config_maps,
      kube::Key{std::string(kConfigurationNamespace), std::string(kConfigurationMap)});
  bool none = !map && map.error().code == Code::not_found;
  return map    ? Result<std::string>(json::string_at(**map, {"data", kConfigurationKey}))
         : none ? Result<std::string>("")
                : std::unexpected(map.error());
}

Result<void> mutate_pod(const Settings& settings, const kube::AdmissionRequest& request,
                        json::Value& pod) {
  Result<std::string> text = configuration(settings, request);
  if (text && text->empty()) return {};  // every pod passes here: no YAML for nothing
  Result<std::vector<ResourceGroup>> groups =
      text ? parse_resource_groups(*text) : std::unexpected(text.error());
  if (!groups) {
    if (request.warnings)
      request.warnings->push_back(std::string(kConfigurationKey) +
                                  " is ignored: " + groups.error().message);
    return {};
  }
  for (const ResourceGroup& group : *groups)
    if (group.holds(pod, request.key.ns)) {
      group.apply_to(pod);
      break;
    }
  return {};
}

}  // namespace

extern const Step step_pods_mutate;
const Step step_pods_mutate{
    .name = "mutatepod.volcano.sh",
    .path = "/pods/mutate",
    .resources = {&kube::resources::pods},
    .when = Step::When::create,
    .mutate = mutate_pod,
};

}  // namespace hekla::admission
