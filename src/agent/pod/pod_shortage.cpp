#include "agent/pod/pod_shortage.h"

namespace hekla::agent {
namespace {

std::int64_t milli_or_units(const model::ResourceList& list, const std::string& name) {
  auto found = list.find(name);
  if (found == list.end()) return 0;
  return name == "cpu" ? found->second.milli_value() : found->second.value();
}

bool is_of_vendor(const std::string& name) { return name.contains('/'); }

}  // namespace

std::string PodShortage::text() const {
  return "Node didn't have enough resource: " + resource +
         ", requested: " + std::to_string(requested) + ", used: " + std::to_string(used) +
         ", capacity: " + std::to_string(capacity);
}

std::optional<PodShortage> find_shortage(const model::PodSpec& pod,
                                         const std::vector<const model::PodSpec*>& others,
                                         const model::ResourceList& allocatable) {
  PodShortage pods{"pods", 1, static_cast<std::int64_t>(others.size()),
                   milli_or_units(allocatable, "pods")};
  if (pods.used + pods.requested > pods.capacity) return pods;
  const model::ResourceList wanted = model::pod_requests(pod);
  model::ResourceList taken;
  for (const model::PodSpec* other : others) model::add(taken, model::pod_requests(*other));
  std::vector<std::string> names{"cpu", "memory", "ephemeral-storage"};
  for (const auto& [name, quantity] : wanted)
    if (name.starts_with("hugepages-") || (is_of_vendor(name) && allocatable.contains(name)))
      names.push_back(name);
  for (const std::string& name : names) {
    PodShortage one{name, milli_or_units(wanted, name), milli_or_units(taken, name),
                    milli_or_units(allocatable, name)};
    if (one.requested > 0 && one.used + one.requested > one.capacity) return one;
  }
  return std::nullopt;
}

}  // namespace hekla::agent
