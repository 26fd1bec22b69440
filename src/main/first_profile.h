// The profile of the account that the first start makes: who logs in has a namespace.
#pragma once

#include "json/value.h"
#include "kube/client.h"

namespace hekla {

// The profile kubeflow-user-example-com of user@example.com.
extern const kube::Resource kProfiles;
json::Object first_profile();

// Makes the profile kubeflow-user-example-com of user@example.com while there is no profile at all.
// Called on the client's executor; does not wait.
void ensure_first_profile(kube::Client& client);

}  // namespace hekla
