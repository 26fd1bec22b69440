// One scheduling session at a time over the live cluster state: open the plugins, run the actions,
// close with phases, conditions and messages, and take back whatever was not committed. The object
// itself lives on between sessions, so that tables and scratch space are warm.
//
// Single-threaded; no I/O; time and the session's id come from the caller.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/session/class_table.h"
#include "scheduler/session/configuration.h"
#include "scheduler/session/decisions.h"
#include "scheduler/session/plugin.h"
#include "scheduler/session/services.h"
#include "scheduler/session/tiers.h"

namespace hekla::scheduler {

class StartRules;

// Why a job as a whole was not tried.
enum class JobObstacle : std::uint8_t { none, fifo_head, queue_job_limit, network };

// How long a group that did not fit rests, where sessions follow events (look_again_after).
inline constexpr Nanos kLookAgain = std::chrono::seconds(1);

class Session {
 public:
  explicit Session(Cluster& cluster);
  ~Session();

  // Replaces plugins and actions from the next session on.
  void configure(Configuration configuration,
                 std::span<const PluginInfo* const> plugins = all_plugins());
  const Configuration& configuration() const { return configuration_; }

  // A group that did not fit rests until a node gains room or its objects or its queue change, at
  // most this long. Zero, the default: it is tried in every session.
  void look_again_after(Nanos longest) { longest_rest_ = longest; }
  bool rests(JobId job) const { return resting_[job.index()]; }

  // Whether plugins report figures for metrics.
  void collect_gauges(bool wanted) { collect_gauges_ = wanted; }

  // What plugins may ask; must live longer than the sessions.
  void use(Services services) { services_ = services; }

  // Runs one session. The result is valid until the next one.
  const Decisions& run(const Clock& clock, std::string uid);

  // ---- for plugins and actions ----
  const Cluster& cluster() const { return cluster_; }
  WallTime now() const { return now_; }
  const std::string& uid() const { return uid_; }
  Reasons& reasons() { return reasons_; }
  const Services& services() const { return services_; }
  // Jobs that take part: their group exists (or they are plain pods) and so does their queue.
  std::span<const JobId> jobs() const { return jobs_; }
  bool takes_part(JobId job) const;
  // Plain pods are in no queue: shares and limits of queues are not about them, and what is done
  // for a queue's sake is not done to them.
  bool is_in_queue(JobId job) const { return takes_part(job) && !at(job).implicit; }
  const Task& at(TaskId id) const { return cluster_.at(id); }
  const Job& at(JobId id) const { return cluster_.at(id); }
  const Queue& at(QueueId id) const { return cluster_.at(id); }

  // Orders, with Volcano's tie-breaks: creation time, then uid; tasks by index first.
  bool queue_before(QueueId a, QueueId b) const;
  bool job_before(JobId a, JobId b) const;
  bool task_before(TaskId a, TaskId b) const;
  bool job_valid(JobId job) const;
  bool job_ready(JobId job) const;
  bool job_pipelined(JobId job) const;
  bool job_starving(JobId job) const;
  bool job_enqueueable(JobId job) const;
  void job_enqueued(JobId job);
  // What a queue asks beyond the plugins (start_rules.h): whether a group may be let in, and
  // whether it may be placed now. A refusal leaves its reason in the group's messages.
  bool may_enqueue(JobId job);
  bool may_place(JobId job);
  // Room is kept for this group, or for one of this queue, because it has waited too long.
  bool keeps_room(JobId job) const;
  bool keeps_room(QueueId queue) const;
  // Around every attempt to place a job: room kept for others is closed to it, its own is open.
  void begin_turn(JobId job);
  void end_turn(JobId job);
  bool overused(QueueId queue) const;
  // What the plugins know of the queue and of the ancestors that bound it, the nearest first.
  std::vector<QueueAccount> accounts(QueueId queue) const;
  // Why a plugin lets nobody in, whoever it is; empty: none does.
  std::string problem() const;
  bool allocatable(QueueId queue, TaskId task) const;
  bool preemptive(QueueId queue, TaskId task) const;
  std::vector<TaskId> preemptable(TaskId preemptor, std::span<const TaskId> candidates) const;
  std::vector<TaskId> reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) const;
  std::vector<TaskId> unified_evictable(const Eviction& eviction,
                                        std::span<const TaskId> candidates) const;
  // Whether x is taken before y so that the preemptor gets room: the least deserving first.
  bool victim_before(TaskId x, TaskId y, TaskId preemptor) const;
  std::vector<TaskId> victim_tasks(std::span<const TaskId> running) const;
  bool sub_job_ready(JobPart part) const;
  bool sub_job_pipelined(JobPart part) const;
  bool sub_job_before(JobPart a, JobPart b) const;
  std::vector<double> hyper_node_scores(JobPart part,
                                        std::span<const HyperNodeId> hyper_nodes) const;
  std::vector<std::vector<HyperNodeId>> hyper_node_gradient(JobPart part, HyperNodeId within) const;

  // The table of a task's class, current.
  ClassTable& table(ClassId pods);

  // ---- nodes for a task (placement.cpp) ----
  // The node to take: `preferred` if it fits, else the best with idle resources, else the best
  // that will have them; nothing when no node can take the task.
  std::optional<ClassTable::Pick> choose_node(TaskId task, NodeId preferred = {});
  // Why choose_node() found nothing.
  std::string explain_no_node(TaskId task);
  // Nodes that could take the task if pods left them, the best first if scored, else by id.
  std::vector<NodeId> evictable_nodes(TaskId task, bool scored);
  // Offers the same nodes one by one, by id, until one is taken; no more are looked at than need
  // be.
  void try_evictable_nodes(TaskId task, const std::function<bool(NodeId)>& taken);
  // Those of them with room enough once the pods that are leaving are gone, by id. The room is not
  // looked at for best-effort pods.
  std::vector<NodeId> roomy_nodes(TaskId task);
  // Whether the node takes the task once the pods that are leaving it are gone.
  bool will_take(TaskId task, NodeId node);
  // Whether the filters let the task onto the node once the pods that are leaving it are gone;
  // resources are not looked at.
  bool passes_filters(TaskId task, NodeId node);

  // From here on nodes outside the hypernode do not exist for choose_node(); invalid: all exist.
  void enter_domain(HyperNodeId domain) { domain_ = domain; }
  // What a claim of the task gets if the task keeps its node: a volume, or one to be made there.
  void assume(TaskId task, ClaimId claim, VolumeId volume, NodeId node) {
    cluster_.edit_volumes().assume(task, claim, volume, node);
  }
  void assume(TaskId task, NodeId node, const std::vector<ClaimDevices>& chosen) {
    cluster_.edit_dynamic_resources().assume(at(task).uid, cluster_.at(node), chosen);
  }
  // Where the job sits, written down as the group's annotation.
  void settle_in(JobId job, HyperNodeId hyper_node);

  // ---- changes, used by Statement and actions ----
  void set_phase(JobId job, Phase phase);
  // In memory, with the plugins told; nothing is kept or undone by itself. A plugin may refuse a
  // placement.
  [[nodiscard]] bool place(TaskId task, TaskStatus status, NodeId node);
  void unplace(TaskId task);
  // The task gives its node up, or stays after all.
  void release(TaskId task);
  void unrelease(TaskId task, TaskStatus before);
  // Remembered for messages after a statement is discarded.
  void remember(TaskId task);
  // The placement stays for the rest of the session and vanishes with it, unless it is bound.
  void keep(TaskId task) { kept_.push_back(task); }
  // The placement is final: the pod will be bound.
  void bind(TaskId task);
  // A released task really goes; upstream names the action as the reason. For a plain pod's sake
  // the victim is told in kube-scheduler's words.
  void evict(TaskId task, std::string_view reason, TaskId plain_pod = {});
  // Victims have been found on a node; whether it works out or not.
  void note_preemption_attempt() { ++decisions_.preemption_attempts; }
  // Pods were evicted to make room for this pipelined task: its node is written down as nominated.
  void nominate(TaskId task) { cluster_.edit(task).nominated_stamp = stamp_; }
  // Places a task outside any statement; binds everything the job holds once it is ready
  // (backfill).
  void allocate_now(TaskId task, NodeId node);

  // Why the task found no node; the first one per job becomes the origin in messages.
  void set_fit_error(TaskId task, std::string text);
  void set_job_error(JobId job, JobObstacle obstacle, std::string text) {
    notes(job).obstacle = obstacle;
    notes(job).job_error = std::move(text);
  }
  std::pair<JobObstacle, std::string> job_error(JobId job) const {
    const JobNotes* found = find_notes(job);
    if (found == nullptr || found->job_error.empty()) return {};
    return {found->obstacle, found->job_error};
  }
  // Why the first of its tasks that found no node did not; nullptr: none was tried in vain.
  const std::string* first_fit_error(JobId job) const {
    const JobNotes* found = find_notes(job);
    return found != nullptr && found->first_failed.valid() ? fit_text(found->first_failed)
                                                           : nullptr;
  }
  // Why nodes do not take the task although they have room, one plugin after the other.
  struct Refusal {
    std::string plugin, reason;
    std::size_t nodes = 0;
    bool operator<(const Refusal& other) const {
      return std::tie(plugin, reason, nodes) < std::tie(other.plugin, other.reason, other.nodes);
    }
  };
  std::vector<Refusal> refusals(TaskId task);
  // Nodes whose only objection, if any, is their room.
  std::vector<bool> admitting_nodes(ClassId pods);
  // Where the tasks would go if the nodes had this room, first fit over the nodes that would take
  // them at all; nothing if they do not all fit.
  using Packing = std::vector<std::pair<NodeId, Resources>>;
  std::optional<Packing> pack(std::span<const TaskId> tasks, std::vector<Resources> free);
  // Whether a task of the same role (and sub-job) has found no node.
  bool role_failed(const Task& task) const { return role_failed(task.job, failure_key(task)); }
  // Whether the part can still become ready after a task of it found no node.
  bool may_continue(JobPart part) const;
  // Starts over with the messages of a part that is tried elsewhere.
  void clear_fit_errors(JobPart part);

  // ---- for close ----
  void set_condition(JobId job, std::string_view type, std::string_view reason,
                     std::string message);
  void record_event(JobId job, TaskId task, bool warning, std::string_view reason,
                    std::string message);
  // An enqueue plugin's refusal; recorded once until it changes.
  void record_rejection(JobId job, std::string message);
  // "pod group is not ready, 1 Running, 3 Pending, 4 minAvailable; ..."
  const std::string& fit_error(JobId job);
  // Pods of the gang are still being created, or those it lost replaced: not the moment to complain
  // that some are missing.
  bool is_arriving(JobId job) const {
    return (at(job).arriving && !job_valid(job)) || is_recovering(job);
  }
  // Pending tasks that a discarded statement had already given a node.
  std::int32_t schedulable_tasks(JobId job) const;

 private:
  struct PluginSlot {
    std::string name;
    std::unique_ptr<Plugin> plugin;
  };
  // What a session knows about one job; valid if the stamp is the session's.
  struct JobNotes {
    std::uint64_t stamp = 0;
    bool changed = false;        // its status must be written
    bool unschedulable = false;  // an Unschedulable condition was set in this session
    TaskId first_failed;
    std::vector<std::uint32_t> failed_roles;
    std::string fit_error;
    JobObstacle obstacle = JobObstacle::none;
    std::string job_error;
  };
  struct TaskNote {
    std::uint64_t stamp = 0;
    std::uint32_t text = 0;
  };

  void open();
  void preempt_for_plain_pods();
  void preempt_for(TaskId plain_pod);
  bool may_rest(const Job& job) const;
  void close();
  void close_job(JobId job);
  bool is_recovering(JobId job) const;
  Phase phase_at_close(JobId job, bool unschedulable) const;
  void report_pods(JobId job);
  void report_pod(TaskId task);
  void report_group_event(JobId job, bool changed);
  // Elastic groups (elastic/elastic.cpp).
  void grant_sizes();
  void shrink_for(JobId waiting, std::vector<JobId>& elastic, Resources& room);
  void grow(JobId job);
  void grant(JobId job, std::int32_t granted);
  Resources elastic_member(JobId job) const;
  Resources elastic_room(QueueId queue) const;
  void write_queues();
  void record_gauges();
  void undo_kept();
  JobNotes& notes(JobId job);
  const JobNotes* find_notes(JobId job) const;
  const std::string* fit_text(TaskId task) const;
  TaskStatus effective_status(const Task& task) const;
  bool concerns(Hook hook, TaskId task) const;
  static std::uint32_t failure_key(const Task& task) {
    return static_cast<std::uint32_t>(task.sub_job) << 16 | task.role;
  }
  bool role_failed(JobId job, std::uint32_t key) const;
  // The nodes there are for the task at hand.
  std::span<const NodeId> nodes_at_hand(const ClassTable& known) const;
  std::optional<ClassTable::Pick> choose_concerned(TaskId task, ClassTable& table,
                                                   NodeId preferred);
  // Of the class alone, without its table.
  void filter_class(const PodClass& pods, std::span<const NodeId> nodes,
                    std::span<ReasonId> reasons);
  void filter_by(Plugin& plugin, const PodClass& pods, std::span<const NodeId> nodes,
                 std::span<ReasonId> reasons);
  void filter_concerned(TaskId task, std::span<const NodeId> nodes, std::span<ReasonId> reasons);
  void score_concerned(TaskId task, std::span<const NodeId> nodes, std::span<double> scores);
  ReasonId pre_filter(TaskId task);
  // Those of the nodes whose objections, if any, would go with the pods that are there.
  std::vector<NodeId> evictable_among(TaskId task, std::vector<NodeId> nodes);
  bool reserve(TaskId task, NodeId node);
  void unreserve(TaskId task, NodeId node);
  // Whether it holds without the pods that are leaving: they will be gone when another one comes.
  bool once_they_left(NodeId node, const std::function<bool()>& check);
  const TieredPlugins& asked(Hook hook) const { return tiers_[index_of(hook)]; }

  Cluster& cluster_;
  Configuration configuration_;
  std::vector<PluginSlot> plugins_;  // in tier order
  std::array<TieredPlugins, kHooks> tiers_;
  std::vector<Plugin*> listeners_;  // on_allocate, on_release
  NodeRules rules_;
  Reasons reasons_;
  std::unique_ptr<StartRules> start_rules_;

  HyperNodeId domain_;
  Services services_;
  Nanos longest_rest_{0};
  std::vector<bool> resting_;    // by job
  std::uint64_t opened_at_ = 0;  // the cluster's version
  bool collect_gauges_ = false;
  const Clock* clock_ = nullptr;
  WallTime now_{};
  std::string uid_;
  std::uint64_t stamp_ = 0;
  std::vector<JobId> jobs_;
  std::vector<std::unique_ptr<ClassTable>> tables_;  // by class
  std::vector<ClassId> held_tables_;
  std::vector<JobNotes> job_notes_;
  std::vector<TaskNote> task_notes_;
  std::vector<std::string> fit_texts_;
  std::vector<TaskId> kept_;
  std::vector<Resources> queue_own_, queue_allocated_;
  std::vector<QueueCounts> queue_counts_;
  Decisions decisions_;
};

}  // namespace hekla::scheduler
