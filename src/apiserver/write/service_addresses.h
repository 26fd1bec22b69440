// Cluster addresses and node ports of services, taken from a range and from what the stored
// services already have.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "apiserver/object/registry.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

// Thread-safe.
class ServiceAddresses {
 public:
  static Result<std::unique_ptr<ServiceAddresses>> make(const std::string& cidr);

  // Fills clusterIP, clusterIPs, the families and node ports of a service about to be written.
  // `old` is null on create; what it had is kept. Causes name an address that is taken or out of
  // range.
  struct Asker {
    Rng& rng;
    WallTime now;
    bool dry_run = false;
    // The address that the same request was given before, if it was; it gets the one given now.
    std::string& chosen;
  };
  std::vector<Cause> assign(json::Value& service, const json::Value* old,
                            const ServedKind& services, const store::Snapshot& snapshot,
                            const Asker& asker) const;
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
  void add_claims(Taken& taken, const std::string& owner, WallTime now) const;
  void claim(const json::Value& service, const std::string& owner, WallTime now) const;
  std::string pick_address(const Taken& taken, std::uint32_t start) const;
  std::vector<Cause> assign_address(json::Value& service, const Taken& taken,
                                    const Asker& asker) const;

  const std::uint32_t base_, size_;
  // Addresses given to writes that may not be committed yet: two that are prepared at the same time
  // must not get the same. A moment later the store itself tells.
  struct Claim {
    std::string owner, address;
    std::vector<std::int64_t> node_ports;
    WallTime at;
  };
  mutable std::mutex mutex_;
  mutable std::deque<Claim> claims_;
};

}  // namespace hekla::apiserver
