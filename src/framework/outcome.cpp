#include "framework/outcome.h"

namespace hekla::framework {

Removal removal_of(const kube::Resource& resource, const model::ObjectMeta& metadata,
                   std::string reason) {
  Removal removal{resource, key_of(metadata), metadata.uid};
  removal.reason = std::move(reason);
  return removal;
}

void Outcome::again_in(Nanos delay) {
  if (!again_after || delay < *again_after) again_after = delay;
}

void Outcome::tell(std::string type, std::string reason, std::string message) {
  events.push_back({{std::move(type), std::move(reason), std::move(message)}});
}

void Outcome::tell_with_status(std::string type, std::string reason, std::string message) {
  tell(std::move(type), std::move(reason), std::move(message));
  events.back().with_status = true;
}

}  // namespace hekla::framework
