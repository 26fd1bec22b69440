// The reverse proxy: requests carried on to the programs that routes lead to, streaming both ways.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/rng.h"
#include "gateway/activity/activity.h"
#include "gateway/front_door.h"
#include "gateway/routes/route_table.h"
#include "net/client_request.h"
#include "net/forward.h"

namespace hekla::gateway {

struct ProxyOptions {
  std::function<std::shared_ptr<const RouteTable>()> table;  // from any thread
  // Sends a request on and brings its answer back: net::forward.
  std::function<void(const net::Request& request, std::shared_ptr<net::ResponseWriter> writer,
                     net::Forwarding forwarding)>
      forward;
  Rng* rng = nullptr;
  const Clock* clock = nullptr;
  Activity* activity = nullptr;                         // where the use of notebooks is noted down
  int streams_per_user = 256, streams_per_object = 64;  // upgraded ones, of each user
};

// Thread-safe.
class RouteProxy final : public Proxy {
 public:
  explicit RouteProxy(ProxyOptions options) : options_(std::move(options)) {}
  bool claims(const net::Request& request, const Path& path) const override;
  Way way(const Visit& visit) override;

 private:
  // The way of one request, as the table had it.
  struct Chosen {
    std::shared_ptr<const RouteTable> table;
    RouteTable::Found found;
    const Destination* destination = nullptr;
    kube::Access access;
  };
  void carry(Visit visit, const Guest& guest, const Chosen& chosen);
  // Notes down this use of a notebook, and what will pass through its stream.
  void note_use(const Visit& visit, const kube::Access& access, net::Forwarding& how);
  // Counts one more stream; null where there are too many. It ends with the last reference.
  std::shared_ptr<void> count_stream(const std::string& user, const kube::Access& access);

  const ProxyOptions options_;
  struct Counts {
    std::mutex mutex;
    std::map<std::string, int> streams;
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace hekla::gateway
