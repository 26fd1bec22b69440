// ReplicaSets and ReplicationControllers: as many pods of a template as asked for.
#pragma once

#include "controllers/workload/objects.h"

namespace hekla::controllers {

// `resource` is one of the two; `name` is of the controller ("replicaset").
KindDescription replica_set_kind(const kube::Resource& resource, const std::string& name);

}  // namespace hekla::controllers
