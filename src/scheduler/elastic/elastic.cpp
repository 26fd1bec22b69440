// Elastic groups: those that run with fewer members than they want. When groups of their queue wait
// for room, they give members up, down to their minimum, the least important and youngest first;
// when nobody waits and there is room again, they grow. What is granted stands on the group
// (hekla.io/granted-members): only whoever made the members makes and removes them, and until that
// has happened nothing more is asked of the group. Volcano has no such step: there, evicted members
// are made again by their controller, and fight for the room they have left.
#include <algorithm>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

// Amounts that a group still needs to begin.
Resources need_of(const Job& job) {
  Resources need = job.has_min_resources ? job.outstanding() : job.pending_request;
  need.value[kPods] = 0;
  return need;
}

Resources times(const Resources& one, std::int32_t count) {
  Resources out;
  each_dim(one.present, [&](Dim d) { out.set(d, one[d] * count); });
  return out;
}

// Members that a group has, of those that it was granted.
std::int32_t members(const Job& job) {
  const std::int32_t placed = job.ready();
  return job.granted > 0 ? std::min(placed, job.granted) : placed;
}

}  // namespace

// The member that would go first: its maker takes the highest index.
Resources Session::elastic_member(JobId id) const {
  Resources request;
  std::int64_t highest = -1;
  for (TaskId one : at(id).tasks) {
    const Task& task = at(one);
    if (!is_allocated(task.status) || task.index < highest) continue;
    highest = task.index;
    request = cluster_.class_of(task).request;
  }
  request.value[kPods] = 0;
  return request;
}

// Room that groups of a queue may still take, with what is on its way out; what waits for that is
// the waiting groups' own.
Resources Session::elastic_room(QueueId queue) const {
  Resources room;
  for (NodeId id : cluster_.live()) {
    Resources idle = cluster_.at(id).idle;
    idle += cluster_.at(id).releasing;
    each_dim(idle.present,
             [&](Dim d) { room.set(d, room[d] + std::max<std::int64_t>(idle[d], 0)); });
  }
  Resources held;
  for (JobId id : jobs_) {
    const Job& job = at(id);
    if (job.queue != queue || job.implicit) continue;
    held += job.allocated;
    const std::int32_t leaving = job.granted > 0 ? std::max(job.ready() - job.granted, 0) : 0;
    if (leaving == 0) continue;
    room += times(elastic_member(id), leaving);
    held -= times(elastic_member(id), leaving);
  }
  if (!at(queue).has_capability) return room;
  const Resources& most = at(queue).capability;
  each_dim(room.present & most.present, [&](Dim d) {
    if (most[d] > 0)
      room.value[d] = std::min(room[d], std::max<std::int64_t>(most[d] - held[d], 0));
  });
  return room;
}

void Session::grant(JobId id, std::int32_t granted) {
  Job& job = cluster_.edit(id);
  if (job.granted == granted) return;
  job.granted = granted;
  notes(id).changed = true;
}

// Takes members from the queue's elastic groups until the waiting group fits; nothing when it would
// not fit even then.
void Session::shrink_for(JobId waiting, std::vector<JobId>& elastic, Resources& room) {
  const Job& job = at(waiting);
  const Resources need = need_of(job);
  if (less_equal(need, room, Missing::zero)) {
    room -= need;
    return;
  }
  std::vector<std::pair<JobId, std::int32_t>> taken;
  Resources found = room;
  for (JobId id : elastic) {
    const Job& giver = at(id);
    if (giver.queue != job.queue || giver.priority > job.priority) continue;
    const Resources member = elastic_member(id);
    std::int32_t count = 0;
    while (members(giver) - count > giver.min_available &&
           !less_equal(need, found, Missing::zero)) {
      found += member;
      ++count;
    }
    if (count > 0) taken.emplace_back(id, members(giver) - count);
  }
  if (!less_equal(need, found, Missing::zero)) return;
  for (const auto& [id, granted] : taken) grant(id, granted);
  room = found;
  room -= need;
}

void Session::grow(JobId id) {
  const Job& job = at(id);
  const bool settled = job.ready() == job.granted && job.valid() == job.granted;
  if (job.granted == 0 || !settled) return;
  const Resources member = elastic_member(id);
  Resources room = elastic_room(job.queue);
  std::int32_t more = 0;
  for (NodeId node : cluster_.live()) {
    Resources idle = cluster_.at(node).future_idle();
    while (job.granted + more < job.elastic_members && less_equal(member, idle, Missing::zero) &&
           less_equal(member, room, Missing::zero)) {
      idle -= member;
      room -= member;
      ++more;
    }
  }
  const std::int32_t granted = job.granted + more;
  grant(id, granted >= job.elastic_members ? 0 : granted);
}

void Session::grant_sizes() {
  std::vector<JobId> elastic, waiting;
  for (JobId id : jobs_) {
    const Job& job = at(id);
    if (job.elastic_members > job.min_available && job.is_ready() && job.allocated_tasks() > 0)
      elastic.push_back(id);
    else if (!job.implicit && !job.is_ready() && job.phase != Phase::completed &&
             !need_of(job).is_empty())
      waiting.push_back(id);
  }
  if (elastic.empty()) return;
  std::ranges::sort(waiting, [this](JobId a, JobId b) { return job_before(a, b); });
  std::ranges::sort(elastic, [this](JobId a, JobId b) {
    if (at(a).priority != at(b).priority) return at(a).priority < at(b).priority;
    return job_before(b, a);
  });
  std::vector<QueueId> queues;
  for (JobId id : elastic)
    if (std::ranges::find(queues, at(id).queue) == queues.end()) queues.push_back(at(id).queue);
  for (QueueId queue : queues) {
    Resources room = elastic_room(queue);
    bool anybody = false;
    for (JobId id : waiting) {
      if (at(id).queue != queue) continue;
      anybody = true;
      shrink_for(id, elastic, room);
    }
    if (anybody) continue;
    for (JobId id : elastic)
      if (at(id).queue == queue) grow(id);
  }
}

}  // namespace hekla::scheduler
