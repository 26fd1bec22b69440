// What a simulation is made of: a cluster (nodes, queues, priority classes) and jobs with arrival
// times and durations. From Kubernetes objects, recorded or written by hand, and from a shorthand
// that generates many (docs/simulate.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "model/volcano.h"
#include "scheduler/cluster/companions.h"

namespace hekla::scheduler {

struct SimulatedRole {
  std::string name;
  std::int32_t replicas = 0;
  std::optional<std::int32_t> min;
  model::PodSpec spec;
  std::map<std::string, std::string> labels, annotations;  // for its pods
  std::optional<model::PartitionPolicy> partitions;
};

struct SimulatedJob {
  std::string ns = "default", name, queue = "default", priority_class;
  Nanos arrival{0}, duration{0};
  std::int32_t min_available = 0;
  std::vector<SimulatedRole> roles;
  std::map<std::string, std::string> annotations, labels;  // for the PodGroup
  std::optional<model::NetworkTopologySpec> topology;
};

struct SimulationInput {
  std::vector<model::Node> nodes;
  std::vector<model::Queue> queues;
  std::vector<model::PriorityClass> priority_classes;
  std::vector<std::pair<CompanionKind, Companion>> companions;
  std::vector<SimulatedJob> jobs;  // by arrival
  // Pods that have a node when the simulation begins, and their groups: they stay, unless they are
  // evicted.
  std::vector<model::Pod> pods;
  std::vector<model::PodGroup> groups;
  // What of the files has no part in the simulation, by kind or member: names of the objects.
  std::map<std::string, std::vector<std::string>> ignored;
  // The same as lines for people.
  std::vector<std::string> warnings() const;
};

// Adds the documents of a file. Errors name the document. `rng` decides what the shorthand leaves
// to chance. Jobs without a known duration run `otherwise`.
Result<void> read_simulation_file(std::string_view text, Rng& rng, Nanos otherwise,
                                  SimulationInput& out);
// The jobs in order of arrival, the first at 0 if their times are wall times; pods and groups that
// the jobs will have anyway are taken out.
void settle_arrivals(SimulationInput& input);

}  // namespace hekla::scheduler
