// The Service kube-system/kube-dns: tools look for it to find the cluster's name server.
#pragma once

#include <string>
#include <vector>

#include "agent/network/address_pool.h"
#include "kube/client.h"

namespace hekla::agent {

// Writes that make it lead to `address`, whether it is there already or not: the tenth address of the service range, as
// clusters usually have it, and endpoints by hand.
std::vector<kube::Write> dns_service_writes(const Subnet& services, const std::string& address);

}  // namespace hekla::agent
