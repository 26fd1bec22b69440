// Objects that an installation of the Kubeflow Trainer brings beside its controllers: the
// ClusterTrainingRuntimes, and the version that its SDK looks up.
#pragma once

#include "kube/client.h"

namespace hekla {

// Makes what is missing, on the client's executor; what is there stays as it is. Failures are
// logged.
void install_training_runtimes(kube::Client& client);

}  // namespace hekla
