// The state of the cluster as the scheduler sees it: dense arrays by id, kept current by the deltas
// of a watch. Nothing is copied for a session: it moves tasks in these arrays and undoes what it
// does not commit.
//
// Single-threaded. Ids of removed objects are reused; a NodeId stays with its name for good, so
// that pods may name a node before the Node object is seen and after it is gone.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/core.h"
#include "model/volcano.h"
#include "scheduler/cluster/companions.h"
#include "scheduler/cluster/dynamic_resources.h"
#include "scheduler/cluster/hyper_nodes.h"
#include "scheduler/cluster/job.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/pod_class.h"
#include "scheduler/cluster/pod_neighbours.h"
#include "scheduler/cluster/queue.h"
#include "scheduler/cluster/task.h"
#include "scheduler/cluster/volumes.h"

namespace hekla::scheduler {

struct ClusterOptions {
  // Pods naming one of these are placed by this scheduler.
  std::vector<std::string> scheduler_names{"volcano"};
  // Of those, the ones whose pods need no PodGroup: each such pod is a group of its own.
  std::vector<std::string> single_pod_schedulers{};
  std::string default_queue = "default";
};

// What a delta means for the next session: nothing, only status to report, or something to decide.
enum class Impact : std::uint8_t { none, report, decide };

class Cluster {
 public:
  explicit Cluster(ClusterOptions options = {});

  Impact put(const model::Node& node);
  Impact put(const model::Pod& pod);
  Impact put(const model::PodGroup& group);
  Impact put(const model::Queue& queue);
  Impact put(const model::PriorityClass& priority_class);
  Impact put(CompanionKind kind, const Companion& object);
  Impact remove(const model::Node& node);
  Impact remove(const model::Pod& pod);
  Impact remove(const model::PodGroup& group);
  Impact remove(const model::Queue& queue);
  Impact remove(const model::PriorityClass& priority_class);
  Impact remove(CompanionKind kind, const Companion& object);

  // Gives the task a status and, unless it is invalid, a node; every count and account follows.
  void move(TaskId task, TaskStatus status, NodeId node);
  // Keeps room on a node free, or gives it back (sign -1). Belongs to a session, which undoes it.
  void reserve(NodeId node, const Resources& amount, int sign);
  // A session's victims leave their nodes later; those who compare nodes may look past them until
  // the session forgets.
  void count_evicted(TaskId task, int sign);
  void forget_evicted();
  // Null where nobody was evicted.
  const Evicted* evicted_from(NodeId node) const {
    if (evicted_.empty()) return nullptr;
    auto found = evicted_.find(node.index());
    return found == evicted_.end() ? nullptr : &found->second;
  }
  // The API refused the binding: the pod is pending again, unless the world has moved on.
  void bind_failed(TaskId task, const std::string& uid);
  // The API took the binding; the watch will say so too.
  void bind_succeeded(TaskId task, const std::string& uid);
  // The API refused to delete the pod: it stays on its node.
  void evict_failed(TaskId task, const std::string& uid);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Task> tasks() const { return tasks_; }
  std::span<const Job> jobs() const { return jobs_; }
  std::span<const Queue> queues() const { return queues_; }
  const Node& at(NodeId id) const { return nodes_[id.index()]; }
  const Task& at(TaskId id) const { return tasks_[id.index()]; }
  const Job& at(JobId id) const { return jobs_[id.index()]; }
  const Queue& at(QueueId id) const { return queues_[id.index()]; }
  const PodClass& at(ClassId id) const { return classes_[id.index()]; }
  Task& edit(TaskId id) { return tasks_[id.index()]; }
  Job& edit(JobId id) { return jobs_[id.index()]; }
  Queue& edit(QueueId id) { return queues_[id.index()]; }

  const PodClass& class_of(const Task& task) const { return classes_[task.pod_class.index()]; }
  std::size_t class_slots() const { return classes_.size(); }
  QueueId find_queue(std::string_view name) const;
  NodeId find_node(std::string_view name) const;
  JobId find_job(std::string_view ns, std::string_view name) const;
  TaskId find_task(std::string_view ns, std::string_view name) const;
  // Of live nodes.
  const Resources& total() const { return total_; }
  const Resources& used() const { return used_; }
  std::size_t live_nodes() const { return live_.size(); }
  // Ascending.
  std::span<const NodeId> live() const { return live_; }
  // The value of a priority class, if there is such a class.
  std::optional<std::int32_t> priority_value(const std::string& priority_class) const {
    auto found = priority_classes_.find(priority_class);
    if (found == priority_classes_.end()) return std::nullopt;
    return found->second.value;
  }
  // How many live nodes hold an image; 0 when unknown.
  std::int32_t nodes_with_image(NameId image) const;

  // A group that did not fit need not be tried again before room was gained somewhere, or it or its
  // queue has changed: each notes the version at which it last did.
  std::uint64_t version() const { return version_; }
  std::uint64_t room_gained() const { return room_gained_; }
  void gain_room() { room_gained_ = ++version_; }
  void touch(JobId id) { jobs_[id.index()].changed = ++version_; }

  // Counts of pods by topology, for affinity and spread. Current after settle().
  const PodTerms& terms() const { return terms_; }
  // Objects that only some plugins read, and what is made of them. Current after settle().
  const Companions& companions() const { return companions_; }
  const HyperNodes& hyper_nodes() const { return hyper_nodes_; }
  const Volumes& volumes() const { return volumes_; }
  Volumes& edit_volumes() { return volumes_; }
  const DynamicResources& dynamic_resources() const { return dynamic_resources_; }
  DynamicResources& edit_dynamic_resources() { return dynamic_resources_; }
  // Brings what depends on nodes and companions up to date; called at the start of a session.
  void settle();

  const Names& names() const { return names_; }
  const Dimensions& dimensions() const { return dimensions_; }
  const ClusterOptions& options() const { return options_; }

  // Node accounts change one at a time and whoever keeps something derived from them catches up by
  // this log: sequence numbers never go back; nullopt means too far behind, look at every node.
  std::uint64_t change_sequence() const { return log_base_ + log_.size(); }
  std::optional<std::span<const NodeId>> changed_since(std::uint64_t sequence) const;
  // The sequence number after the node's last entry in the log: its earlier entries say nothing
  // more.
  std::uint64_t last_change(NodeId id) const { return last_change_[id.index()]; }
  // Rises when a node comes, goes, or changes its shape.
  std::uint64_t shape_version() const { return shape_version_; }
  // Forgets old entries of the log; called between sessions.
  void trim_log();

 private:
  NodeId intern_node(std::string_view name);
  QueueId intern_queue(std::string_view name);
  JobId intern_job(const std::string& ns, const std::string& name);
  void drop_job_if_unused(JobId id);
  JobId job_of(const model::Pod& pod, bool ours);
  TaskId add_task(const model::Pod& pod, bool ours);
  Impact update_task(TaskId id, const model::Pod& pod);
  bool belongs_to_its_job(const Task& task, const model::Pod& pod) const;
  void change_class(TaskId id, const model::Pod& pod, LabelPairs labels);
  void drop_task(TaskId id);
  void set_group(JobId id, const model::PodGroup& group);
  bool set_topology(JobId id, const model::PodGroup& group);
  void join_sub_job(Task& task);
  void leave_sub_job(const Task& task);
  void count_in_sub_job(const Task& task, int sign);
  void set_namespace(const std::string& name, const Companion* object);
  void settle_companions();
  std::uint16_t intern_role(Job& job, NameId name);
  std::string base_key(const model::Pod& pod, const LabelPairs& labels);
  ClassId classify(const model::Pod& pod, LabelSetId labels);
  ClassId intern_class(PodClass made);
  ClassTerms intern_terms(PodNeighbours wanted);
  TermId intern_term(TermSpec spec);
  void reclassify(TermId term);
  void reclassify(std::span<const LabelSetId> sets);
  void release_class(ClassId id);
  std::int32_t priority_of(const std::string& priority_class) const;
  void resolve_priorities();
  // Requests by names that have become known are counted by them.
  void recognise_names();
  void count_task(Task& task, int sign);
  void note_loss(const Task& task);
  // Others want to be near it, or count it.
  bool draws(const Task& task) const { return !terms_.at(task.labels).matched.empty(); }
  void charge_node(TaskId id, int sign);
  void count_images(const NodeShape& shape, int sign);
  void note_change(NodeId id) {
    log_.push_back(id);
    last_change_[id.index()] = change_sequence();
  }

  ClusterOptions options_;
  Names names_;
  Dimensions dimensions_;
  PodTerms terms_{names_};
  Companions companions_;
  HyperNodes hyper_nodes_;
  std::uint64_t hyper_nodes_seen_ = 0, hyper_nodes_labels_ = 0;
  Volumes volumes_;
  DynamicResources dynamic_resources_;
  std::vector<Node> nodes_;
  boost::unordered_flat_map<std::uint32_t, Evicted> evicted_;  // by node
  std::vector<Task> tasks_;
  std::vector<Job> jobs_;
  std::vector<Queue> queues_;
  std::vector<PodClass> classes_;
  std::vector<TaskId> free_tasks_;
  std::vector<JobId> free_jobs_;
  std::vector<ClassId> free_classes_;

  using Index = boost::unordered_flat_map<std::string, std::uint32_t>;
  Index node_ids_, queue_ids_, job_ids_, class_ids_;
  Index task_ids_;      // by uid
  Index task_by_name_;  // by "namespace/name"
  struct PriorityValue {
    std::int32_t value = 0;
    bool global_default = false;
  };
  boost::unordered_flat_map<std::string, PriorityValue> priority_classes_;
  boost::unordered_flat_map<std::uint32_t, std::int32_t> image_nodes_;

  Resources total_, used_;
  std::vector<NodeId> live_;
  std::uint64_t shape_version_ = 1;
  std::uint64_t label_version_ = 1;  // of nodes that come, go or change their labels
  std::uint64_t class_serial_ = 0;
  std::size_t recognised_ = 0;  // names at the last recognise_names()
  std::uint64_t version_ = 1, room_gained_ = 0;
  std::uint64_t log_base_ = 0;
  std::vector<NodeId> log_;
  std::vector<std::uint64_t> last_change_;  // by node
  std::vector<NodeId> touched_;             // scratch of charge_node
};

}  // namespace hekla::scheduler
