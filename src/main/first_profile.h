// The profile of the account that the first start makes: who logs in has a namespace.
#pragma once

#include "kube/client.h"

namespace hekla {

// Makes the profile kubeflow-user-example-com of user@example.com while there is no profile at all.
// Called on the client's executor; does not wait.
void ensure_first_profile(kube::Client& client);

}  // namespace hekla
