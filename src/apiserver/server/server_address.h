// Where this server is found: the service default/kubernetes and what stands behind it.
#pragma once

#include <vector>

#include "apiserver/server/bootstrap_options.h"
#include "apiserver/server/self_reconciler.h"

namespace hekla::apiserver {

// The service, and what stands behind it unless the server listens on a loopback address alone.
std::vector<json::Value> server_address_objects(const BootstrapOptions& options);
bool tells_of_the_server(const kube::Resource& resource, const kube::Key& key);
// The stored one of those objects with the ports and addresses of now; what others have written
// beside stays.
json::Value with_server_address(const json::Value& stored, const json::Value& now);
// Brings them back when somebody has taken them away or changed them.
ReconcileRule server_address_rule(const BootstrapOptions& options);

}  // namespace hekla::apiserver
