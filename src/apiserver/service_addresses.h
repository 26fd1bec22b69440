// Cluster addresses and node ports of services, taken from a range and from what the stored services
// already have.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "apiserver/registry.h"
#include "base/result.h"
#include "base/rng.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

// Thread-safe.
class ServiceAddresses {
 public:
  static Result<std::unique_ptr<ServiceAddresses>> make(const std::string& cidr, Rng& rng);

  // Fills clusterIP, clusterIPs, the families and node ports of a service about to be written. `old` is
  // null on create; what it had is kept. Causes name an address that is taken or out of range.
  std::vector<Cause> assign(json::Value& service, const json::Value* old, const ServedKind& services,
                            const store::Snapshot& snapshot) const;
  // The first address: the API server's own service.
  std::string first() const;

  // Use make().
  ServiceAddresses(std::uint32_t base, std::uint32_t size, Rng& rng)
      : base_(base), size_(size), rng_(rng) {}

 private:
  struct Taken {
    std::set<std::string> addresses;
    std::set<std::int64_t> node_ports;
  };
  Taken taken(const ServedKind& services, const store::Snapshot& snapshot, bool ports) const;
  std::string pick_address(const Taken& taken) const;
  std::int64_t pick_port(Taken& taken) const;
  std::vector<Cause> assign_address(json::Value& service, const Taken& taken) const;
  std::vector<Cause> assign_ports(json::Value& service, const json::Value* old, Taken& taken) const;

  const std::uint32_t base_, size_;
  Rng& rng_;
  // Handed out lately: two writes that are prepared at the same time must not get the same one.
  mutable std::mutex mutex_;
  mutable std::deque<std::string> recent_;
};

}  // namespace hekla::apiserver
