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
  static Result<std::unique_ptr<ServiceAddresses>> make(const std::string& cidr);

  // Fills clusterIP, clusterIPs, the families and node ports of a service about to be written. `old` is
  // null on create; what it had is kept. Causes name an address that is taken or out of range. `chosen` is the
  // address that the same request was given before, if it was; it gets the one given now.
  std::vector<Cause> assign(json::Value& service, const json::Value* old, const ServedKind& services,
                            const store::Snapshot& snapshot, Rng& rng, std::string& chosen) const;
  // The first address: the API server's own service.
  std::string first() const;

  // Use make().
  ServiceAddresses(std::uint32_t base, std::uint32_t size) : base_(base), size_(size) {}

 private:
  struct Taken {
    std::set<std::string> addresses;
    std::set<std::int64_t> node_ports;
  };
  Taken taken(const ServedKind& services, const store::Snapshot& snapshot, bool ports) const;
  std::string pick_address(const Taken& taken, std::uint32_t start) const;
  std::vector<Cause> assign_address(json::Value& service, const Taken& taken, Rng& rng,
                                    std::string& chosen) const;

  const std::uint32_t base_, size_;
  // Handed out lately: two writes that are prepared at the same time must not get the same one.
  mutable std::mutex mutex_;
  mutable std::deque<std::string> recent_;
};

}  // namespace hekla::apiserver
