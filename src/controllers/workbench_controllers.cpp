#include "controllers/workbench_controllers.h"

#include "controllers/workbench/event_mirror.h"
#include "framework/kind_controller.h"
#include "kube/cache_set.h"

namespace hekla::controllers {

struct WorkbenchControllers::Parts {
  kube::CacheSet caches;
  std::vector<std::unique_ptr<framework::KindController>> kinds;
  workbench::EventMirror events;

  Parts(kube::Client& client, const workbench::WorkbenchOptions& options)
      : caches(client), events(caches) {
    for (const workbench::WorkbenchKind* kind : workbench::all_workbench_kinds())
      kinds.push_back(std::make_unique<framework::KindController>(caches, kind->describe(options)));
  }
};

WorkbenchControllers::WorkbenchControllers(kube::Client& client,
                                           const workbench::WorkbenchOptions& options)
    : parts_(std::make_unique<Parts>(client, options)) {}

WorkbenchControllers::~WorkbenchControllers() = default;

void WorkbenchControllers::start() {
  parts_->caches.start();
  parts_->events.start();
}

}  // namespace hekla::controllers
