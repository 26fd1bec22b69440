// Makes the claims of pods' generic ephemeral volumes, as kube-controller-manager's ephemeral
// volume controller does. A claim belongs to its pod and is collected with it.
#pragma once

#include "framework/kind_description.h"

namespace hekla::controllers {

framework::KindDescription ephemeral_volume_kind();

}  // namespace hekla::controllers
