// Hekla's side of the oracle: reads cases, one JSON object per line, runs one session over each,
// and prints what it decided, one JSON object per line.
#include <chrono>
#include <iostream>
#include <string>

#include "json/codec.h"
#include "json/parse.h"
#include "scheduler/session/session.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {
namespace {

template <class T>
bool put_all(const json::Value& test_case, const char* member, Cluster& cluster) {
  const json::Array* list = json::array_at(test_case, {member});
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    Result<T> object = json::decode<T>((*list)[i]);
    if (!object) {
      std::cerr << member << ": " << object.error().message << "\n";
      return false;
    }
    cluster.put(*object);
  }
  return true;
}

json::Object placements(const Cluster& cluster, const std::vector<BindDecision>& decisions) {
  json::Object out;
  for (const BindDecision& one : decisions)
    out[cluster.at(one.task).name] = cluster.at(one.node).name;
  return out;
}

bool decide(const json::Value& test_case) {
  Cluster cluster({{"volcano"}, {}, "default"});
  Session session(cluster);
  Result<Configuration> configuration = parse_configuration(json::string_at(test_case, {"config"}));
  if (!configuration) {
    std::cerr << configuration.error().message << "\n";
    return false;
  }
  session.configure(std::move(*configuration));
  if (!put_all<model::PriorityClass>(test_case, "priorityClasses", cluster) ||
      !put_all<model::Node>(test_case, "nodes", cluster) ||
      !put_all<model::Queue>(test_case, "queues", cluster) ||
      !put_all<model::PodGroup>(test_case, "podGroups", cluster) ||
      !put_all<model::Pod>(test_case, "pods", cluster))
    return false;
  // Nothing has just come: Volcano, which looks once a second, makes no difference either.
  for (std::size_t i = 0; i < cluster.jobs().size(); ++i) cluster.edit(JobId(i)).arriving = false;
  // Volcano asks the machine what time it is: how long a group has waited matters.
  sim::SimClock clock;
  clock.jump_wall(std::chrono::system_clock::now() - clock.wall());
  const Decisions& decisions = session.run(clock, "oracle");
  json::Object evictions, phases;
  for (const EvictDecision& one : decisions.evictions)
    evictions[cluster.at(one.task).name] = cluster.at(cluster.at(one.task).node).name;
  for (JobId id : session.jobs()) phases[cluster.at(id).name] = name_of(cluster.at(id).phase);
  json::Object out{{"seed", json::int_at(test_case, {"seed"})},
                   {"binds", placements(cluster, decisions.binds)},
                   {"evictions", std::move(evictions)},
                   {"pipelined", placements(cluster, decisions.pipelined)},
                   {"phases", std::move(phases)}};
  std::cout << json::serialize(out) << "\n";
  return true;
}

}  // namespace
}  // namespace hekla::scheduler

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    hekla::Result<hekla::json::Value> test_case = hekla::json::parse(line);
    if (!test_case || !hekla::scheduler::decide(*test_case)) return 1;
  }
  return 0;
}
