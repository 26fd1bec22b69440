#include "scheduler/cluster/job.h"

#include <algorithm>

namespace hekla::scheduler {

namespace {

std::int32_t count_of(const Role& role, TaskStatus status) {
  return role.count[static_cast<std::size_t>(status)];
}

std::int32_t ready_of(const Role& role) {
  return count_of(role, TaskStatus::bound) + count_of(role, TaskStatus::binding) +
         count_of(role, TaskStatus::running) + count_of(role, TaskStatus::allocated) +
         count_of(role, TaskStatus::succeeded);
}

}  // namespace

bool Job::roles_valid() const {
  if (!checks_roles()) return true;
  for (const Role& role : roles)
    if (ready_of(role) + count_of(role, TaskStatus::pipelined) +
            count_of(role, TaskStatus::pending) <
        role.min)
      return false;
  return true;
}

bool Job::roles_ready() const {
  if (!checks_roles()) return true;
  for (const Role& role : roles)
    if (ready_of(role) + role.pending_best_effort < role.min) return false;
  return true;
}

bool Job::roles_pipelined() const {
  if (!checks_roles()) return true;
  for (const Role& role : roles)
    if (ready_of(role) + role.pending_best_effort + count_of(role, TaskStatus::pipelined) <
        role.min)
      return false;
  return true;
}

template <class Counts>
bool Job::enough_sub_jobs(Counts counts) const {
  for (std::size_t rule = 0; rule < sub_group_rules.size(); ++rule) {
    std::int32_t found = 0;
    for (const SubJob& one : sub_jobs)
      if (one.rule == static_cast<std::int32_t>(rule) && counts(one)) ++found;
    if (found < sub_group_rules[rule].min) return false;
  }
  return true;
}

bool Job::sub_jobs_valid() const {
  return enough_sub_jobs([](const SubJob& one) { return one.tasks > 0; });
}
bool Job::sub_jobs_ready() const {
  return enough_sub_jobs([](const SubJob& one) { return one.is_ready(); });
}
bool Job::sub_jobs_pipelined() const {
  return enough_sub_jobs([](const SubJob& one) { return one.is_pipelined(); });
}

const TopologyWish& Job::topology_of(std::int32_t sub_job) const {
  if (sub_job < 0) return topology;
  std::int32_t rule = sub_jobs[static_cast<std::size_t>(sub_job)].rule;
  return rule < 0 ? topology : sub_group_rules[static_cast<std::size_t>(rule)].topology;
}

bool Job::has_topology() const {
  return topology.given ||
         std::any_of(sub_group_rules.begin(), sub_group_rules.end(),
                     [](const SubGroupRule& rule) { return rule.topology.given; });
}

bool Job::has_hard_topology() const {
  return topology.hard || std::any_of(sub_group_rules.begin(), sub_group_rules.end(),
                                      [](const SubGroupRule& rule) { return rule.topology.hard; });
}

Resources Job::outstanding() const {
  Resources rest = excess(min_resources, allocated);
  return excess(rest, gated_request);
}

}  // namespace hekla::scheduler
