// What the objects around a group say by themselves, without a session: pods that cannot be made,
// nodes that are lost, jobs that nobody ends.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduler/cluster/job.h"
#include "scheduler/explain/explain.h"

namespace hekla::scheduler {

// The newest message among events of these reasons on an object; empty: there is none.
std::string event_text(const World& world, const std::string& kind, const std::string& ns,
                       const std::string& name, const std::set<std::string>& reasons);
const model::PodGroup* group_of(const World& world, const model::VcJob& job);
// The group's or its pods' priority class does not exist.
void add_missing_priority_class(const World& world, const model::PodGroup& group,
                                std::vector<Finding>& out);
// Fewer pods exist than the gang needs: a quota, or whatever events say.
void add_missing_pods(const World& world, const model::PodGroup& group, const Job& job,
                      std::vector<Finding>& out);
// Members stand on nodes that are gone or not ready.
void add_lost_nodes(const World& world, const model::PodGroup& group, std::vector<Finding>& out);
// "does not exist any more", "is not ready (...)"; empty when all is well with the node.
std::string loss_of_node(const World& world, const std::string& name);
// A role has completed, others run on, and no policy says that this ends the job.
void add_endless_run(const World& world, const model::VcJob& job, std::vector<Finding>& out);

}  // namespace hekla::scheduler
