// The rules between a queue and the queues above and below it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/admission.h"
#include "model/volcano.h"

namespace hekla::admission {

// A queue's path from the root, and the weight of each step of it.
inline constexpr std::string_view kHierarchyAnnotation = "volcano.sh/hierarchy";
inline constexpr std::string_view kHierarchyWeightsAnnotation = "volcano.sh/hierarchy-weights";

class QueueTree {
 public:
  QueueTree(std::vector<model::Queue> queues, int depth_max);

  const model::Queue* find(const std::string& name) const;
  std::vector<const model::Queue*> children(const std::string& name) const;  // by name

  // Whether `queue` may stand below its parent; the complaint, or nothing.
  std::string parent_error(const model::Queue& queue) const;
  // capability, guarantee and deserved against ancestors, siblings and children.
  std::string resource_error(const model::Queue& queue) const;

 private:
  std::string ancestor_error(const model::Queue& queue) const;
  std::string sibling_error(const model::Queue& queue) const;
  std::string children_error(const model::Queue& queue) const;
  model::Quantity subtree_capability(const model::Queue& queue, const std::string& resource,
                                     int depth) const;

  std::map<std::string, model::Queue> queues_;
  int depth_max_;
};

std::int64_t allocated_pods(const model::Queue& queue);

}  // namespace hekla::admission
