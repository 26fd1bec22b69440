// Sub-groups of jobs and the network's domains: the questions to plugins, and what is remembered.
#include <algorithm>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

bool Session::sub_job_ready(JobPart part) const {
  if (part.sub_job < 0) return job_ready(part.job);
  return evaluate<Unanimous>(asked(Hook::sub_job_ready),
                             [&](Plugin& p) { return p.sub_job_ready(part); });
}

bool Session::sub_job_pipelined(JobPart part) const {
  if (part.sub_job < 0) return job_pipelined(part.job);
  return evaluate<TierVote>(asked(Hook::sub_job_pipelined),
                            [&](Plugin& p) { return p.sub_job_pipelined(part); });
}

bool Session::sub_job_before(JobPart a, JobPart b) const {
  int order = evaluate<FirstDecisive>(asked(Hook::sub_job_order),
                                      [&](Plugin& p) { return p.sub_job_order(a, b); });
  if (order != 0) return order < 0;
  const std::vector<SubJob>& all = at(a.job).sub_jobs;
  const SubJob &x = all[static_cast<std::size_t>(a.sub_job)],
               &y = all[static_cast<std::size_t>(b.sub_job)];
  return x.match_index != y.match_index ? x.match_index < y.match_index : x.id < y.id;
}

std::vector<double> Session::hyper_node_scores(JobPart part,
                                               std::span<const HyperNodeId> hyper_nodes) const {
  std::vector<double> scores(hyper_nodes.size(), 0.0);
  for (const std::vector<Plugin*>& tier : asked(Hook::hyper_node_order))
    for (Plugin* plugin : tier) plugin->hyper_node_score(part, hyper_nodes, scores);
  return scores;
}

std::vector<std::vector<HyperNodeId>> Session::hyper_node_gradient(JobPart part,
                                                                   HyperNodeId within) const {
  const TieredPlugins& tiers = asked(Hook::hyper_node_gradient);
  if (tiers.empty()) return {{within}};
  return tiers.front().front()->hyper_node_gradient(part, within);
}

void Session::clear_fit_errors(JobPart part) {
  JobNotes& known = notes(part.job);
  auto concerned = [&](std::uint32_t sub_job) {
    return part.sub_job < 0 || sub_job == static_cast<std::uint32_t>(part.sub_job);
  };
  std::erase_if(known.failed_roles, [&](std::uint32_t key) { return concerned(key >> 16); });
  if (known.first_failed.valid() && concerned(at(known.first_failed).sub_job))
    known.first_failed = {};
  for (TaskId task : at(part.job).tasks)
    if (concerned(at(task).sub_job)) task_notes_[task.index()].stamp = 0;
}

void Session::settle_in(JobId id, HyperNodeId hyper_node) {
  Job& job = cluster_.edit(id);
  const HyperNodes& all = cluster_.hyper_nodes();
  const std::string& name = all.at(all.common(all.find(job.hyper_node), hyper_node)).name;
  if (job.hyper_node == name) return;
  job.hyper_node = name;
  notes(id).changed = true;
}

}  // namespace hekla::scheduler
