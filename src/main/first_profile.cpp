#include "main/first_profile.h"

#include "base/log.h"
#include "framework/writes.h"
#include "gateway/password.h"

namespace hekla {
namespace {

using json::Object;

constexpr const char* kName = "kubeflow-user-example-com";

}  // namespace

const kube::Resource kProfiles{"kubeflow.org", "v1", "profiles", "Profile", false};

json::Object first_profile() {
  return {{"metadata", Object{{"name", kName}}},
          {"spec", Object{{"owner", Object{{"kind", "User"}, {"name", gateway::kDefaultEmail}}}}}};
}

void ensure_first_profile(kube::Client& client) {
  client.list(kProfiles, {}, [&client](const Result<kube::List>& profiles) {
    if (!profiles || !profiles->items.empty()) return;
    const std::string owner(gateway::kDefaultEmail);
    // A namespace of that name is given over to the profile.
    Object annotations{{"owner", owner}};
    client.batch({framework::merge_patch(
                      kube::resources::namespaces, {"", kName},
                      Object{{"metadata", Object{{"annotations", std::move(annotations)}}}}),
                  framework::create(kProfiles, "", first_profile())},
                 [](const std::vector<kube::WriteResult>& results) {
                   const kube::WriteResult& made = results.back();
                   if (!made && made.error().code != Code::already_exists)
                     log_error("profile-controller", "the first profile could not be made",
                               {{"error", made.error().message}});
                 });
  });
}

}  // namespace hekla
