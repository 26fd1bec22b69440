#include "scheduler/session/domain_placement.h"

#include <algorithm>

#include "scheduler/session/task_placement.h"

namespace hekla::scheduler {

namespace {

bool has_unknown_tier(const TopologyWish& wish, const HyperNodes& all) {
  return wish.hard && wish.tier < 0 && !wish.tier_name.empty() && all.tier_of(wish.tier_name) < 0;
}

}  // namespace

bool DomainPlacement::handles(const Session& session, JobId id) {
  const Job& job = session.at(id);
  if (!job.sub_group_rules.empty()) return true;
  return job.topology.given && (job.topology.hard || session.cluster().hyper_nodes().any());
}

std::string DomainPlacement::obstacle(const Session& session, JobId id) {
  const Job& job = session.at(id);
  const HyperNodes& all = session.cluster().hyper_nodes();
  if (!job.has_topology()) return {};
  if (!all.problem().empty()) return "hyperNodes are not ready for scheduling: " + all.problem();
  auto unknown = [](const std::string& tier) {
    return "highestTierName " + tier + " is the tier name of no HyperNode";
  };
  if (has_unknown_tier(job.topology, all)) return unknown(job.topology.tier_name);
  for (const SubGroupRule& rule : job.sub_group_rules)
    if (has_unknown_tier(rule.topology, all)) return unknown(rule.topology.tier_name);
  return {};
}

// ---- what there is to place

DomainPlacement::Sheet& DomainPlacement::sheet_of(JobId id) {
  auto [known, fresh] = sheets_.try_emplace(id);
  if (!fresh) return known->second;
  Sheet& sheet = known->second;
  const Job& job = session_.at(id);
  auto add = [&](std::int32_t sub_job) {
    Part part;
    part.sub_job = sub_job;
    collect_pending(session_, {id, sub_job}, part.order);
    if (!part.order.empty()) sheet.push_back(std::move(part));
  };
  if (job.sub_jobs.empty()) {
    add(-1);
    return sheet;
  }
  for (std::size_t i = 0; i < job.sub_jobs.size(); ++i) add(static_cast<std::int32_t>(i));
  std::sort(sheet.begin(), sheet.end(), [&](const Part& a, const Part& b) {
    return session_.sub_job_before({id, a.sub_job}, {id, b.sub_job});
  });
  // The smallest set of sub-groups with which the job could run goes first.
  std::vector<std::int32_t> ready(job.sub_group_rules.size(), 0);
  for (std::size_t i = 0; i < job.sub_jobs.size(); ++i)
    if (job.sub_jobs[i].rule >= 0 && session_.sub_job_ready({id, static_cast<std::int32_t>(i)}))
      ++ready[static_cast<std::size_t>(job.sub_jobs[i].rule)];
  for (Part& part : sheet) {
    std::int32_t rule = job.sub_jobs[static_cast<std::size_t>(part.sub_job)].rule;
    if (rule < 0 || session_.sub_job_ready({id, part.sub_job})) continue;
    auto at = static_cast<std::size_t>(rule);
    part.required = ready[at] < job.sub_group_rules[at].min;
    if (part.required) ++ready[at];
  }
  return sheet;
}

bool DomainPlacement::has_more(JobId job) const {
  auto known = sheets_.find(job);
  return known != sheets_.end() &&
         std::any_of(known->second.begin(), known->second.end(),
                     [](const Part& part) { return part.next < part.order.size(); });
}

DomainPlacement::Part* DomainPlacement::next_part(JobId job, Sheet& sheet) const {
  Part* best = nullptr;
  for (Part& part : sheet) {
    if (part.given_up || part.next >= part.order.size()) continue;
    bool before = best == nullptr ||
                  (part.required != best->required
                       ? part.required
                       : part.sub_job >= 0 &&
                             session_.sub_job_before({job, part.sub_job}, {job, best->sub_job}));
    if (before) best = &part;
  }
  return best;
}

// ---- placing

std::optional<HyperNodeId> DomainPlacement::place(JobId job) {
  Sheet& sheet = sheet_of(job);
  const JobPart whole{job, -1};
  HyperNodeId top = session_.cluster().hyper_nodes().top();
  for (const std::vector<HyperNodeId>& group : session_.hyper_node_gradient(whole, top)) {
    std::optional<Attempt> best;
    Sheet left;
    for (HyperNodeId domain : group) {
      session_.clear_fit_errors(whole);
      Sheet tried = sheet;
      double score = place_parts(job, domain, tried);
      bool good = statement_.size() > 0 && (session_.job_ready(job) || session_.job_pipelined(job));
      if (good && (!best || score > best->score)) {
        best = Attempt{domain, statement_.placements(), score};
        left = std::move(tried);
      }
      statement_.discard();
    }
    if (!best) continue;
    if (!statement_.replay(best->placements)) {
      statement_.discard();
      return std::nullopt;
    }
    sheet = std::move(left);
    for (Part& part : sheet) part.given_up = false;
    return best->domain;
  }
  return std::nullopt;
}

double DomainPlacement::place_parts(JobId job, HyperNodeId domain, Sheet& sheet) {
  double total = 0;
  while (Part* part = next_part(job, sheet)) {
    std::optional<double> score = place_part(job, domain, *part);
    if (!score) {
      part->given_up = true;
      continue;
    }
    total += *score;
    if (session_.job_ready(job)) break;
  }
  return total;
}

std::optional<double> DomainPlacement::place_part(JobId job, HyperNodeId within, Part& part) {
  const JobPart which{job, part.sub_job};
  const std::size_t before = statement_.size();
  // All of a job has no smaller domain to look for than the one it is being tried in.
  std::vector<std::vector<HyperNodeId>> gradient{{within}};
  if (part.sub_job >= 0) gradient = session_.hyper_node_gradient(which, within);
  for (const std::vector<HyperNodeId>& group : gradient) {
    std::vector<Attempt> attempts;
    std::vector<std::uint32_t> next;
    for (HyperNodeId domain : group) {
      session_.clear_fit_errors(which);
      std::uint32_t tried = part.next;
      session_.enter_domain(domain);
      place_tasks(session_, statement_, which, part.order, tried);
      session_.enter_domain({});
      bool good = statement_.size() > before &&
                  (session_.sub_job_ready(which) || session_.sub_job_pipelined(which));
      if (good) {
        attempts.push_back({domain, statement_.placements(before), 0});
        next.push_back(tried);
      }
      statement_.discard(before);
    }
    if (attempts.empty()) continue;
    std::vector<HyperNodeId> domains;
    for (const Attempt& one : attempts) domains.push_back(one.domain);
    std::vector<double> scores = session_.hyper_node_scores(which, domains);
    auto best =
        static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    if (!statement_.replay(attempts[best].placements)) {
      statement_.discard(before);
      return std::nullopt;
    }
    part.next = next[best];
    return scores[best];
  }
  return std::nullopt;
}

}  // namespace hekla::scheduler
