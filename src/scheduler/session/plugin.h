// What a scheduling policy may decide. One file per plugin under scheduler/plugins: it exports a
// `const PluginInfo plugin_<file name>`, and the build makes the table from the file names.
//
// A plugin lives as long as the configuration that names it; open() starts each session. Hooks
// about nodes are batch-shaped: one call for a class of equal pods and many nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "scheduler/cluster/cluster.h"
#include "scheduler/session/configuration.h"
#include "scheduler/session/decisions.h"
#include "scheduler/session/hooks.h"
#include "scheduler/session/reasons.h"

namespace hekla::scheduler {

class Session;

enum class Vote : std::int8_t { reject = -1, abstain = 0, permit = 1 };

// A score that is known only relative to the other candidates: 100 * raw / (largest raw of them) in
// whole numbers; reversed, 100 minus that.
struct NormalizedScore {
  double weight = 1;
  bool reverse = false;
};

// The answer to "which of these may be evicted": abstaining is not the same as "none".
struct Victims {
  bool abstain = false;
  std::vector<TaskId> tasks;
};

// For whom a gang eviction is made: within a queue (preempt) or across queues (reclaim).
struct Eviction {
  enum class Kind : std::uint8_t { preempt, reclaim } kind = Kind::preempt;
  JobId job;
};

// A job, or one of its sub-jobs.
struct JobPart {
  JobId job;
  std::int32_t sub_job = -1;
};

// A queue in the books of the plugin that divides the cluster among queues.
struct QueueAccount {
  QueueId queue;           // invalid: the root, when nobody has made it
  bool by_weight = false;  // what it deserves follows from its weight and bounds what it gets;
                           // otherwise the limit does
  Shares deserved, limit;
  Resources allocated, request, inqueue, elastic;
  double share = 0;
  bool overused = false;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  // Which of the questions below this plugin answers; the others are never asked.
  virtual Hooks hooks() const = 0;

  virtual void open(Session& session) { (void)session; }
  virtual void close(Session& session) { (void)session; }

  // Negative: the first goes first. Zero: no opinion.
  virtual int queue_order(QueueId, QueueId) const { return 0; }
  virtual int job_order(JobId, JobId) const { return 0; }
  virtual int task_order(TaskId, TaskId) const { return 0; }

  // Sets reasons[i] if nodes[i] cannot take pods of the class. May depend on the class and on that
  // node.
  virtual void filter(const PodClass&, std::span<const NodeId>, std::span<ReasonId>) {}
  // Judges all nodes that are in the same domains of some topologies at once: group_by() names the
  // topologies, and filter_group() is asked about one node of each group whenever a node is needed.
  virtual void group_by(const PodClass&, std::vector<const Topology*>&) const {}
  virtual ReasonId filter_group(const PodClass&, NodeId) { return kFeasible; }
  // Changes when the answers of filter() or score() for this class have changed on nodes whose
  // accounts have not.
  virtual std::uint64_t epoch(const PodClass&) const { return 0; }
  // Adds to scores[i]. May depend on the class and on that node alone.
  virtual void score(const PodClass&, std::span<const NodeId>, std::span<double>) {}
  // Scores relative to the other candidates; raw values depend on the class and the node's shape
  // alone.
  virtual std::span<const NormalizedScore> normalized_scores() const { return {}; }
  virtual void raw_score(std::size_t, const PodClass&, std::span<const NodeId>,
                         std::span<std::int64_t>) {}

  // ---- what a pod's class does not decide: neighbours it wants or avoids, volumes, devices ----
  // Whether the four questions below have anything to do with this task. While no plugin says so,
  // the answers for its class are used as they are, which is much faster.
  virtual bool concerns(TaskId) const { return false; }
  // Before any node is looked at; a reason means that no node can take the task.
  virtual ReasonId pre_filter(TaskId) { return kFeasible; }
  // As filter() and score(), for one task. Nodes come in the order of their ids; score_task sees
  // all candidates at once and adds what is normalised over them.
  virtual void filter_task(TaskId, std::span<const NodeId>, std::span<ReasonId>) {}
  virtual void score_task(TaskId, std::span<const NodeId>, std::span<double>) {}
  // The node to take among scored candidates; invalid means no opinion.
  virtual NodeId best_node(TaskId, std::span<const NodeId>, std::span<const double>) { return {}; }
  // The task is about to get this node. false refuses, and the task stays where it was;
  // unreserve() follows when the placement is taken back.
  virtual bool reserve(TaskId, NodeId) { return true; }
  virtual void unreserve(TaskId, NodeId) {}

  virtual bool job_valid(JobId) { return true; }
  virtual bool job_ready(JobId) { return true; }
  virtual Vote job_pipelined(JobId) { return Vote::abstain; }
  virtual bool job_starving(JobId) { return false; }
  virtual Vote job_enqueueable(JobId) { return Vote::abstain; }
  virtual void job_enqueued(JobId) {}

  virtual bool overused(QueueId) { return false; }
  // The queue's account and those of its ancestors that bound it too, the nearest first.
  virtual std::vector<QueueAccount> accounts(QueueId) { return {}; }
  // What is wrong with the objects it judges by, so that it lets nobody in in this session; empty:
  // nothing.
  virtual std::string problem() const { return {}; }
  virtual bool allocatable(QueueId, TaskId) { return true; }
  virtual bool preemptive(QueueId, TaskId) { return true; }
  virtual Victims preemptable(TaskId, std::span<const TaskId>) { return {true, {}}; }
  virtual Victims reclaimable(TaskId, std::span<const TaskId>) { return {true, {}}; }
  // Who may go so that a whole gang fits.
  virtual Victims unified_evictable(const Eviction&, std::span<const TaskId>) { return {true, {}}; }
  // Which queue's tasks are taken first for the sake of a third queue; negative: the first's.
  virtual int victim_queue_order(QueueId, QueueId, QueueId) const { return 0; }
  // Which of these running tasks should leave their nodes for no one in particular (shuffle).
  virtual std::vector<TaskId> victim_tasks(std::span<const TaskId>) { return {}; }
  // Takes those out that must stay, whoever named them.
  virtual void victim_filter(std::vector<TaskId>&) {}

  // ---- sub-groups and the network; a part is one of a job's sub-jobs, or all of it ----
  virtual bool sub_job_ready(JobPart) { return true; }
  virtual Vote sub_job_pipelined(JobPart) { return Vote::abstain; }
  virtual int sub_job_order(JobPart, JobPart) const { return 0; }
  // Adds to scores[i] how well the part's pending tasks go into hypernodes[i].
  virtual void hyper_node_score(JobPart, std::span<const HyperNodeId>, std::span<double>) {}
  // The hypernodes within one to try for the part, in groups, the best group first.
  virtual std::vector<std::vector<HyperNodeId>> hyper_node_gradient(JobPart, HyperNodeId) {
    return {};
  }

  // The task is bound: what has to be written for it first, or with the binding.
  virtual void prepare_bind(TaskId, NodeId, BindPreparation&) {}

  // A task was given resources in this session, or lost them again.
  virtual void on_allocate(TaskId) {}
  virtual void on_release(TaskId) {}
};

struct PluginInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view arguments;  // names and defaults, for people
  std::unique_ptr<Plugin> (*make)(const PluginOption& option);
  // Refuses arguments that make no sense; the configuration is then not taken.
  Result<void> (*check)(const PluginOption& option) = nullptr;
};

// Generated from the files in scheduler/plugins.
std::span<const PluginInfo* const> all_plugins();

}  // namespace hekla::scheduler
