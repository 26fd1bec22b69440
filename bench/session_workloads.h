// Made-up clusters for the session benchmark, as Kubernetes objects in JSON, one by one: the same
// text goes to Hekla and, as a file with one object per line, to the real Volcano.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hekla::bench {

struct WorkloadSize {
  int nodes = 1000;
  int pods = 10000;
};

// The pod group that comes last, to a cluster at rest ("steady").
inline constexpr std::string_view kArrival = "arrival";

struct Workload {
  std::string_view name;
  std::string_view what;
  WorkloadSize usual;
};

std::vector<Workload> workloads();

// Objects in the order in which a watch would list them: configuration, nodes, classes, queues,
// groups with their pods. False when there is no such workload.
bool make_workload(std::string_view name, WorkloadSize size,
                   const std::function<void(const std::string&)>& emit);

}  // namespace hekla::bench
