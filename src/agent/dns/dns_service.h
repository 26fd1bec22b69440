// The Service kube-system/kube-dns: tools look for it to find the cluster's name server.
#pragma once

#include <string>
#include <vector>

#include "agent/network/address_pool.h"
#include "kube/client.h"

namespace hekla::agent {

// Writes that make it lead to `address`, the service itself only if it is not there already
// (`known`): the tenth address of the service range, as clusters usually have it, and endpoints by
// hand.
std::vector<kube::Write> dns_service_writes(const Subnet& services, const std::string& address,
                                            bool known);

}  // namespace hekla::agent
