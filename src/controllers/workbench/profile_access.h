// Rights in a profile's namespace: accounts, role bindings, the gateway's policy.
#pragma once

#include <vector>

#include "controllers/workbench/workbench_kind.h"

namespace hekla::controllers::workbench {

extern const kube::Resource role_bindings;
// security.istio.io/v1beta1; owned as an optional kind.
extern const kube::Resource authorization_policies;

// default-editor and default-viewer with their roles, every owner's binding, the owners' policy.
std::vector<framework::Child> access_to(const framework::AnyObject& profile);

}  // namespace hekla::controllers::workbench
