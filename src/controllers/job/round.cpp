#include "controllers/job/round.h"

namespace hekla::controllers {

const PodRef* JobView::find_pod(const std::string& name) const {
  for (const PodRef& pod : pods)
    if (pod->metadata.name == name) return &pod;
  return nullptr;
}

bool is_out_of_sync(const model::Pod& pod) {
  return pod.metadata.annotation(model::keys::out_of_sync) == "true";
}

}  // namespace hekla::controllers
