#include "admission/queue_tree.h"

#include <algorithm>
#include <cstdio>

#include "admission/text.h"

namespace hekla::admission {
namespace {

using model::Quantity;
using model::ResourceList;

std::string two_decimals(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// One amount as the scheduler prints it: scalars in thousandths.
std::string amount(const std::string& resource, const Quantity& quantity) {
  if (resource == "cpu") return Quantity::of_milli(quantity.milli_value()).text();
  if (resource == "memory")
    return Quantity::of(quantity.value(), Quantity::Format::binary_si).text();
  return two_decimals(static_cast<double>(quantity.milli_value()));
}

std::string amounts(const ResourceList& list) {
  auto of = [&](const char* name) {
    auto found = list.find(name);
    return found == list.end() ? Quantity{} : found->second;
  };
  std::string text = "cpu " + two_decimals(static_cast<double>(of("cpu").milli_value())) +
                     ", memory " + two_decimals(static_cast<double>(of("memory").value()));
  for (const auto& [name, quantity] : list)
    if (name != "cpu" && name != "memory")
      text += ", " + name + " " + two_decimals(static_cast<double>(quantity.milli_value()));
  return text;
}

bool exceeds(const ResourceList& total, const ResourceList& limit) {
  return std::any_of(total.begin(), total.end(), [&](const auto& entry) {
    auto found = limit.find(entry.first);
    return entry.second > (found == limit.end() ? Quantity{} : found->second);
  });
}

std::string sum_error(const std::string& prefix, const model::Queue& parent,
                      const std::vector<const model::Queue*>& children) {
  ResourceList guarantee, deserved;
  for (const model::Queue* child : children) {
    model::add(guarantee, child->spec.guarantee.resource);
    model::add(deserved, child->spec.deserved);
  }
  auto error = [&](const char* what, const ResourceList& total, const ResourceList& limit) {
    return prefix + " validation failed: sum of children's " + what + " (" + amounts(total) +
           ") exceeds parent's " + what + " limit (" + amounts(limit) + ")";
  };
  if (exceeds(guarantee, parent.spec.guarantee.resource))
    return error("guarantee", guarantee, parent.spec.guarantee.resource);
  if (exceeds(deserved, parent.spec.deserved))
    return error("deserved", deserved, parent.spec.deserved);
  return {};
}

bool below_root(const std::string& parent) { return !parent.empty() && parent != "root"; }

}  // namespace

std::int64_t allocated_pods(const model::Queue& queue) {
  auto pods = queue.status.allocated.find("pods");
  return pods == queue.status.allocated.end() ? 0 : pods->second.value();
}

QueueTree::QueueTree(std::vector<model::Queue> queues, int depth_max) : depth_max_(depth_max) {
  for (model::Queue& queue : queues) {
    std::string name = queue.metadata.name;
    queues_.emplace(std::move(name), std::move(queue));
  }
}

const model::Queue* QueueTree::find(const std::string& name) const {
  auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second;
}

std::vector<const model::Queue*> QueueTree::children(const std::string& name) const {
  std::vector<const model::Queue*> found;
  for (const auto& [child, queue] : queues_)
    if (queue.spec.parent == name) found.push_back(&queue);
  return found;
}

std::string QueueTree::parent_error(const model::Queue& queue) const {
  const std::string& name = queue.metadata.name;
  if (!below_root(queue.spec.parent)) return {};
  if (queue.spec.parent == name) return "queue " + name + " cannot use itself as parent";
  int depth = 1;
  for (std::string above = queue.spec.parent; below_root(above);) {
    if (above == name)
      return "queue " + name + " cannot use queue " + queue.spec.parent +
             " as parent because it is below queue " + name + " itself";
    if (++depth > depth_max_)
      return "queue " + name + " exceeds the maximum allowed depth of " +
             std::to_string(depth_max_);
    const model::Queue* found = find(above);
    if (!found)
      return "failed to get parent queue of queue " + name + ": queue.scheduling.volcano.sh " +
             quoted(above) + " not found";
    above = found->spec.parent;
  }
  const model::Queue& parent = *find(queue.spec.parent);
  if (std::int64_t pods = allocated_pods(parent);
      children(parent.metadata.name).empty() && pods > 0)
    return "queue " + parent.metadata.name + " cannot be the parent queue of queue " + name +
           " because it has allocated Pods: " + std::to_string(pods);
  return {};
}

std::string QueueTree::resource_error(const model::Queue& queue) const {
  if (queue.metadata.name == "root") return {};
  if (below_root(queue.spec.parent)) {
    if (!find(queue.spec.parent))
      return "parent queue " + queue.spec.parent + " not found: queue.scheduling.volcano.sh " +
             quoted(queue.spec.parent) + " not found";
    if (std::string error = ancestor_error(queue); !error.empty()) return error;
    if (std::string error = sibling_error(queue); !error.empty()) return error;
  }
  return children_error(queue);
}

// Against the nearest queue above that limits the resource.
std::string QueueTree::ancestor_error(const model::Queue& queue) const {
  for (const auto& [resource, mine] : queue.spec.capability) {
    int steps = 0;
    for (std::string above = queue.spec.parent; below_root(above) && steps < depth_max_; ++steps) {
      const model::Queue* found = find(above);
      if (!found) break;
      auto limit = found->spec.capability.find(resource);
      if (limit != found->spec.capability.end() && !limit->second.is_zero()) {
        if (mine > limit->second)
          return "queue " + queue.metadata.name + " capability[" + resource +
                 "]=" + amount(resource, mine) +
                 " exceeds its ancestor's capability=" + amount(resource, limit->second);
        break;
      }
      above = found->spec.parent;
    }
  }
  return {};
}

std::string QueueTree::sibling_error(const model::Queue& queue) const {
  std::vector<const model::Queue*> all;
  for (const model::Queue* sibling : children(queue.spec.parent))
    if (sibling->metadata.name != queue.metadata.name) all.push_back(sibling);
  all.push_back(&queue);
  return sum_error("parent queue " + queue.spec.parent, *find(queue.spec.parent), all);
}

Quantity QueueTree::subtree_capability(const model::Queue& queue, const std::string& resource,
                                       int depth) const {
  auto own = queue.spec.capability.find(resource);
  if (own != queue.spec.capability.end() && !own->second.is_zero()) return own->second;
  Quantity most;
  if (depth >= depth_max_) return most;
  for (const model::Queue* child : children(queue.metadata.name))
    most = std::max(most, subtree_capability(*child, resource, depth + 1));
  return most;
}

std::string QueueTree::children_error(const model::Queue& queue) const {
  std::vector<const model::Queue*> below = children(queue.metadata.name);
  if (below.empty()) return {};
  for (const auto& [resource, mine] : queue.spec.capability) {
    Quantity most;
    for (const model::Queue* child : below)
      most = std::max(most, subtree_capability(*child, resource, 0));
    if (mine < most)
      return "queue " + queue.metadata.name + " capability[" + resource +
             "]=" + amount(resource, mine) +
             " is smaller than its descendants' max capability=" + amount(resource, most);
  }
  return sum_error("queue " + queue.metadata.name, queue, below);
}

}  // namespace hekla::admission
