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
  // Adds to scores[i]. May depend on the class and on that node alone.
  virtual void score(const PodClass&, std::span<const NodeId>, std::span<double>) {}
  // Scores relative to the other candidates; raw values depend on the class and the node's shape
  // alone.
  virtual std::span<const NormalizedScore> normalized_scores() const { return {}; }
  virtual void raw_score(std::size_t, const PodClass&, std::span<const NodeId>,
                         std::span<std::int64_t>) {}

  virtual bool job_valid(JobId) { return true; }
  virtual bool job_ready(JobId) { return true; }
  virtual Vote job_pipelined(JobId) { return Vote::abstain; }
  virtual bool job_starving(JobId) { return false; }
  virtual Vote job_enqueueable(JobId) { return Vote::abstain; }
  virtual void job_enqueued(JobId) {}

  virtual bool overused(QueueId) { return false; }
  virtual bool allocatable(QueueId, TaskId) { return true; }
  virtual bool preemptive(QueueId, TaskId) { return true; }
  virtual Victims preemptable(TaskId, std::span<const TaskId>) { return {true, {}}; }
  virtual Victims reclaimable(TaskId, std::span<const TaskId>) { return {true, {}}; }

  // A task was given resources in this session, or lost them again.
  virtual void on_allocate(TaskId) {}
  virtual void on_release(TaskId) {}
};

struct PluginInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view arguments;  // names and defaults, for people
  std::unique_ptr<Plugin> (*make)(const PluginOption& option);
};

// Generated from the files in scheduler/plugins.
std::span<const PluginInfo* const> all_plugins();

}  // namespace hekla::scheduler
