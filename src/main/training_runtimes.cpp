#include "main/training_runtimes.h"

#include "base/check.h"
#include "base/log.h"
#include "controllers/runtimes.h"
#include "framework/writes.h"
#include "json/parse.h"

namespace hekla {
namespace {

namespace resources = kube::resources;
using json::Array, json::Object;

constexpr const char* kNamespace = "kubeflow-system";
constexpr const char* kPublic = "kubeflow-trainer-public";
// The Trainer whose behaviour ours is.
constexpr const char* kVersion = "v2.3.0";
constexpr const char* kRbac = "rbac.authorization.k8s.io";

using Writes = std::vector<kube::Write>;

// The version, which everybody who has logged in may read, in the order in which it is made: a
// binding is refused while there is no role.
std::vector<Writes> public_version() {
  const kube::Resource roles{kRbac, "v1", "roles", "Role"};
  const kube::Resource bindings{kRbac, "v1", "rolebindings", "RoleBinding"};
  const Object metadata{{"name", kPublic}};
  std::vector<Writes> steps(3);
  steps[0].push_back(framework::create(resources::namespaces, "",
                                       Object{{"metadata", Object{{"name", kNamespace}}}}));
  steps[1].push_back(framework::create(
      resources::config_maps, kNamespace,
      Object{{"metadata", metadata}, {"data", Object{{"kubeflow_trainer_version", kVersion}}}}));
  steps[1].push_back(framework::create(
      roles, kNamespace,
      Object{{"metadata", metadata},
             {"rules", Array{Object{{"apiGroups", Array{""}},
                                    {"resources", Array{"configmaps"}},
                                    {"resourceNames", Array{kPublic}},
                                    {"verbs", Array{"get", "list", "watch"}}}}}}));
  steps[2].push_back(framework::create(
      bindings, kNamespace,
      Object{{"metadata", metadata},
             {"roleRef", Object{{"apiGroup", kRbac}, {"kind", "Role"}, {"name", kPublic}}},
             {"subjects",
              Array{Object{
                  {"kind", "Group"}, {"apiGroup", kRbac}, {"name", "system:authenticated"}}}}}));
  return steps;
}

// Each step when the one before it is done: the members of a batch do not wait for each other.
void carry_out(kube::Client& client, std::vector<Writes> steps) {
  if (steps.empty()) return;
  Writes first = std::move(steps.front());
  steps.erase(steps.begin());
  client.batch(std::move(first), [&client, steps = std::move(steps)](
                                     const std::vector<kube::WriteResult>& results) mutable {
    for (const kube::WriteResult& result : results)
      if (!result && result.error().code != Code::already_exists)
        log_error("training-operator", "an object of the Trainer could not be made",
                  {{"error", result.error().message}});
    carry_out(client, std::move(steps));
  });
}

}  // namespace

void install_training_runtimes(kube::Client& client) {
  std::vector<Writes> steps = public_version();
  for (std::string_view yaml : controllers::runtime_yamls()) {
    Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(yaml);
    CHECK(documents, "runtimes that were built in can be read");
    for (json::YamlDocument& one : *documents)
      steps.back().push_back(
          framework::create(resources::cluster_training_runtimes, "", std::move(one.value)));
  }
  carry_out(client, std::move(steps));
}

}  // namespace hekla
