#include "scheduler/cluster/job.h"

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

Resources Job::outstanding() const {
  Resources rest = excess(min_resources, allocated);
  return excess(rest, gated_request);
}

}  // namespace hekla::scheduler
