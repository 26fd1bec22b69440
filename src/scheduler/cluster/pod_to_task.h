// The border: API objects become the scheduler's own shapes here and nowhere else. Pure functions
// but for the two tables they intern names in.
#pragma once

#include <string>
#include <vector>

#include "model/core.h"
#include "model/volcano.h"
#include "scheduler/cluster/job.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/pod_class.h"
#include "scheduler/cluster/queue.h"
#include "scheduler/cluster/task.h"

namespace hekla::scheduler {

// Everything filters and scores read of a pod, as text: pods with equal keys are one class, as long
// as they ask nothing of other pods (pod_neighbours.h) and nothing is asked of them.
std::string class_key(const model::Pod& pod);
PodClass make_class(const model::Pod& pod, std::string key, Names& names,
                    const Dimensions& dimensions);

PodToleration make_toleration(const model::Toleration& from, Names& names);

TaskStatus status_of(const model::Pod& pod);
// The fields of a Task that come from the pod alone; job, class, role, node and status are the
// cluster's.
void fill_task(const model::Pod& pod, Task& task);
// Priority, and whether it may be evicted: annotations that may change while the pod runs. Whether
// they did.
bool fill_standing(const model::Pod& pod, Task& task);
// The annotations of the pod that plugins read; they may come with its binding.
void fill_task_annotations(const model::Pod& pod, Task& task);
// The claims a pod mounts, by name; an ephemeral volume's claim is named after pod and volume.
struct NamedClaim {
  std::string name;
  bool ephemeral = false;
};
std::vector<NamedClaim> claims_of(const model::Pod& pod);
// The resource claims a pod uses; those of templates become known with its status.
std::vector<DeviceClaim> device_claims_of(const model::Pod& pod);
// volcano.sh/task-spec; empty when the pod has none.
const std::string& role_of(const model::Pod& pod);

NodeShape make_shape(const model::Node& node, Names& names, Dimensions& dimensions,
                     std::vector<std::string>* refused = nullptr);

Phase phase_of(const std::string& text);
std::vector<GroupCondition> conditions_of(const model::PodGroup& group);
// Spec and state of a queue; what this scheduler writes itself is left alone.
void fill_queue(const model::Queue& queue, Dimensions& dimensions, Queue& out);

}  // namespace hekla::scheduler
