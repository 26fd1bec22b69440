// Jupyter servers tell when their kernels and terminals were last used. A cell that computes for
// hours sends nothing while nobody looks, so where idle notebooks are stopped their servers are
// asked.
//
// Servers are users' programs: only the addresses that routes lead to are asked, no redirect is
// followed, and an answer that is late, long or not JSON is none.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "gateway/activity/activity.h"
#include "gateway/routes/route_table.h"
#include "net/client.h"

namespace hekla::gateway {

// Of an answer to api/kernels or api/terminals; a busy kernel is used now.
std::optional<WallTime> last_use(std::string_view answer, WallTime now);

class KernelAsker {
 public:
  // `activity` and `clock` outlive it.
  static Result<std::unique_ptr<KernelAsker>> make(net::OpenSocket sockets, Activity& activity,
                                                   const Clock& clock);
  KernelAsker(std::unique_ptr<net::Client> client, Activity& activity, const Clock& clock)
      : activity_(activity), clock_(clock), client_(std::move(client)) {}
  void ask(const RouteTable& table);

 private:
  Activity& activity_;
  const Clock& clock_;
  const std::unique_ptr<net::Client> client_;
};

}  // namespace hekla::gateway
