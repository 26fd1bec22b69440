// The API server's own objects, kept true by itself: it looks at all of them whenever one
// has changed, or the kinds it serves have, and writes what is missing. The rules are in
// api_service_rule.h, flow_schema_rule.h, policy_types.h and server_address.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/object/registry.h"
#include "apiserver/write/writes.h"
#include "base/executor.h"

namespace hekla::apiserver {

struct ReconcileRule {
  std::vector<kube::Resource>
      kinds;            // looked at when one of these changes; group, version and plural
  std::string manager;  // in whose name is written
  std::function<std::vector<WriteRequest>(const Catalog&, const store::Snapshot&, WallTime now)>
      look;
  std::function<std::optional<Nanos>()> again = {};  // after a look: when to look once more
};

// Lives on `loop`.
class SelfReconciler {
 public:
  SelfReconciler(store::Store& store, Registry& registry, Writes& writes, Executor& loop,
                 ReconcileRule rule);
  ~SelfReconciler();
  // Once the first objects are there. On the loop.
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A write of the server's own to a cluster-scoped object; a creation unless it is made something
// else.
WriteRequest own_write(ServedPtr served, std::string name);
// Whether the condition of the wanted one's type has its status and the same text in `field`.
bool has_condition_like(const json::Value& object, const json::Value& wanted, const char* field);

}  // namespace hekla::apiserver
