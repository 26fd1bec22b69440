// Is this a service? Addresses are a matter of service_addresses.h.
#pragma once

#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

// Of a ServiceSpec: whether it is reached from outside the cluster.
bool is_externally_accessible(const json::Value& spec);
// Whether every node tells whoever balances the load if it has pods of it.
bool needs_health_check(const json::Value& spec);
std::vector<Cause> validate_service(const json::Value& object);
std::vector<Cause> validate_changed_service(const json::Value& object, const json::Value& old);

}  // namespace hekla::apiserver
