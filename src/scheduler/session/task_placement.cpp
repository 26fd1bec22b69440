#include "scheduler/session/task_placement.h"

#include <algorithm>

namespace hekla::scheduler {

namespace {

// A queue's refusal leaves a gang with the text about the gang. A plain pod has no such text: if no
// node could take it either, that is its reason.
void explain_plain_pod(Session& session, TaskId id) {
  if (!session.at(session.at(id).job).implicit) return;
  if (!session.choose_node(id)) session.set_fit_error(id, session.explain_no_node(id));
}

// Pods of a role that found no node are not tried again; pods without a role are.
bool has_failed_role(const Session& session, const Task& task) {
  const Role& role = session.at(task.job).roles[task.role];
  return !session.cluster().names().text(role.name).empty() && session.role_failed(task);
}

bool place(Session& session, Statement& statement, TaskId id) {
  NodeId nominated = session.at(id).nominated;
  std::optional<ClassTable::Pick> pick = session.choose_node(id, nominated);
  // It goes on waiting for the room that was made for it: others would take it piece by piece, as
  // its victims leave.
  if (!pick && nominated.valid() && session.will_take(id, nominated))
    return statement.pipeline(id, nominated);
  if (!pick) {
    session.set_fit_error(id, session.explain_no_node(id));
    return false;
  }
  return pick->fit == Fit::idle ? statement.allocate(id, pick->node)
                                : statement.pipeline(id, pick->node);
}

}  // namespace

void collect_pending(const Session& session, JobPart part, std::vector<TaskId>& out) {
  auto begin = static_cast<std::ptrdiff_t>(out.size());
  for (TaskId id : session.at(part.job).tasks) {
    const Task& task = session.at(id);
    bool mine = part.sub_job < 0 || task.sub_job == static_cast<std::uint32_t>(part.sub_job);
    if (mine && task.status == TaskStatus::pending && !task.best_effort && !task.gated && task.ours)
      out.push_back(id);
  }
  std::sort(out.begin() + begin, out.end(),
            [&](TaskId a, TaskId b) { return session.task_before(a, b); });
}

void place_tasks(Session& session, Statement& statement, JobPart part,
                 std::span<const TaskId> order, std::uint32_t& next) {
  QueueId queue = session.at(part.job).queue;
  while (next < order.size()) {
    TaskId id = order[next++];
    const Task& task = session.at(id);
    if (!session.allocatable(queue, id)) {
      explain_plain_pod(session, id);
      continue;
    }
    if (has_failed_role(session, task)) {
      session.set_fit_error(
          id, "Task " + task.name + " with role spec " +
                  session.cluster().names().text(session.at(part.job).roles[task.role].name) +
                  " has already predicated failed, skip");
      continue;
    }
    if (!place(session, statement, id)) {
      if (session.may_continue(part)) continue;
      break;
    }
    if (session.sub_job_ready(part)) break;
  }
}

}  // namespace hekla::scheduler
