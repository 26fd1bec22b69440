#include "kube/in_process/registry.h"

#include "base/check.h"

namespace hekla::kube {

void InProcessRegistry::add(InProcessPart part) {
  std::lock_guard lock(mutex_);
  std::string name = part.name;
  const bool is_new =
      parts_.emplace(std::move(name), std::make_shared<const InProcessPart>(std::move(part)))
          .second;
  CHECK(is_new, "a part of the platform was added twice");
}

void InProcessRegistry::add(InProcessService service) {
  CHECK(service.handler && service.port != 0, "a service without a handler or a port");
  std::lock_guard lock(mutex_);
  std::tuple key{service.ns, service.service, service.port};
  const bool is_new =
      services_
          .emplace(std::move(key), std::make_shared<const InProcessService>(std::move(service)))
          .second;
  CHECK(is_new, "a service of the process was added twice");
}

std::shared_ptr<const InProcessPart> InProcessRegistry::part(const std::string& name) const {
  std::lock_guard lock(mutex_);
  auto found = parts_.find(name);
  return found == parts_.end() ? nullptr : found->second;
}

InProcessServicePtr InProcessRegistry::find(const std::string& ns, const std::string& service,
                                            std::uint16_t port) const {
  std::lock_guard lock(mutex_);
  auto found = services_.find({ns, service, port});
  return found == services_.end() ? nullptr : found->second;
}

std::vector<InProcessServicePtr> InProcessRegistry::services() const {
  std::lock_guard lock(mutex_);
  std::vector<InProcessServicePtr> all;
  for (const auto& [key, service] : services_) all.push_back(service);
  return all;
}

}  // namespace hekla::kube
