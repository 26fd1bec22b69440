// The bus: Commands are deleted first and then carried out, so each happens at most once.
#pragma once

#include <functional>
#include <map>

#include "controllers/volcano/caches.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

// Lives on the client's executor.
class CommandBus {
 public:
  using Handler = std::function<void(const model::Command&)>;

  explicit CommandBus(Caches& caches);
  // Commands whose target is of this kind ("Job", "Queue"). Before the caches start.
  void on_command(const std::string& target_kind, Handler handler);
  void enable() { loop_.enable(); }

 private:
  kube::Round reconcile(const kube::Key& key);

  Caches& caches_;
  std::map<std::string, Handler> handlers_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
