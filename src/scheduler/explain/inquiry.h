// One session over a World, and the questions an explanation asks of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/explain/explain.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

class Inquiry {
 public:
  static Result<std::unique_ptr<Inquiry>> open(const World& world);
  Inquiry();
  ~Inquiry();

  Cluster& cluster() { return cluster_; }
  // The job as it was before the session: what is placed, what is bound now.
  struct Before {
    bool ready = false;
    std::int32_t ready_pods = 0, pending_pods = 0;
    Phase phase = Phase::none;
  };
  const Before& before(JobId job) const { return before_[job.index()]; }

  // Everything that keeps the group from being complete, most telling first.
  std::vector<Finding> why_waiting(JobId job);
  // Numbers of a queue: allocated, deserved, capability, groups by phase.
  Finding queue_figures(QueueId queue);
  // Groups of a queue that are not complete, in the order in which they get their turns.
  std::vector<JobId> line_of(QueueId queue);
  std::string amount(const Resources& of, Dim dim) const;
  // "3 cpu, 2Gi memory" of the dimensions in which `of` is above zero, without pods.
  std::string amounts(const Resources& of) const;

 private:
  void add_queue_findings(JobId job, std::vector<Finding>& out);
  void add_admission_findings(JobId job, std::vector<Finding>& out);
  void add_share_findings(JobId job, const std::vector<TaskId>& tasks, std::vector<Finding>& out);
  void add_node_findings(JobId job, const std::vector<TaskId>& tasks, std::vector<Finding>& out);
  void add_room_findings(JobId job, const std::vector<TaskId>& tasks, std::vector<Finding>& out);
  std::vector<TaskId> missing(JobId job) const;
  std::optional<std::vector<JobId>> who_must_end(JobId job, const std::vector<TaskId>& tasks);
  void add_obstacle(JobId job, std::vector<Finding>& out);
  void add_queue_limit(const Job& job, Finding& finding) const;
  bool has_capability(QueueId queue, const Resources& in) const;
  std::string selector_of(const PodClass& pods) const;
  void add_size_findings(const PodClass& pods, std::vector<Finding>& out) const;
  void add_network_findings(JobId job, const std::vector<TaskId>& tasks, std::vector<Finding>& out);
  std::pair<std::string, std::string> missing_resources(const Resources& wanted,
                                                        const model::ResourceList& unknown) const;
  bool holds_all(const HyperNode& domain, const Job& job, std::int32_t part) const;
  // With what the nodes have free, or with all they have.
  std::size_t how_many_fit(std::span<const TaskId> tasks, std::span<const NodeId> nodes,
                           bool empty);

  Cluster cluster_;
  Session session_;
  std::unique_ptr<Clock> clock_;
  Decisions decisions_;
  std::vector<Before> before_;
};

}  // namespace hekla::scheduler
