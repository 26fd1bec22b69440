// network-topology-aware: keeps the pods of a job close together in the network (HyperNode objects:
// groups of nodes, and groups of those; the lower the tier the closer). A hard wish names the
// highest tier a job's or a sub-group's pods may be spread over; a soft one allows any, the closest
// first. Among domains of one tier the fullest that has room wins (binpack), then the one that has
// more of the job already; within a domain pods go near those placed before. Pods without a wish
// fill hypernodes up, the lower tiers weighing more, and prefer nodes outside any.
//
// Arguments: weight (1), hypernode.binpack.cpu (1), hypernode.binpack.memory (1),
// hypernode.binpack.resources "a,b" with hypernode.binpack.resources.<name> (1),
// hypernode.binpack.normal-pod.enable (true), hypernode.binpack.normal-pod.fading (0.8).
//
// Differs from Volcano 1.14: a soft wish looks for one close domain for the whole job first, as
// later releases do; where a job sits is seen from its pods, so that nothing is lost by a restart;
// what a hypernode has idle is counted when it is asked, not once per session.
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <map>

#include "scheduler/plugins/weighted_resources.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr double kFullScore = 100;
constexpr double kFading = 0.8;

class NetworkTopologyAware final : public Plugin {
 public:
  explicit NetworkTopologyAware(const Arguments& arguments)
      : weight_(not_negative(arguments.number("weight", 1), 1)),
        weights_(arguments, "hypernode.binpack"),
        normal_pods_(arguments.boolean("hypernode.binpack.normal-pod.enable", true)),
        fading_(not_negative(arguments.number("hypernode.binpack.normal-pod.fading", kFading),
                             kFading)) {}
  Hooks hooks() const override {
    return hooks_of(
        {Hook::batch_node_order, Hook::hyper_node_order, Hook::hyper_node_gradient, Hook::events});
  }

  void open(Session& session) override {
    session_ = &session;
    all_ = &session.cluster().hyper_nodes();
    by_dim_ = weights_.by_dimension(session.cluster().dimensions());
    parts_.clear();
    used_.clear();
    allocatable_.clear();
    if (!all_->any() || !all_->problem().empty()) return;
    node_of_.assign(session.cluster().tasks().size(), NodeId());
    used_.resize(all_->all().size());
    allocatable_.resize(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i)
      for (NodeId node : all_->all()[i].nodes) {
        used_[i] += session.cluster().at(node).used;
        allocatable_[i] += session.cluster().at(node).shape.allocatable;
      }
  }

  void on_allocate(TaskId id) override {
    if (used_.empty()) return;
    node_of_[id.index()] = session_->at(id).node;
    count(id, node_of_[id.index()], +1);
  }
  void on_release(TaskId id) override {
    if (used_.empty()) return;
    NodeId node = session_->at(id).node;
    count(id, node.valid() ? node : node_of_[id.index()], -1);
  }

  // ---- domains for jobs and sub-jobs

  std::vector<std::vector<HyperNodeId>> hyper_node_gradient(JobPart part,
                                                            HyperNodeId within) override {
    const Job& job = session_->at(part.job);
    std::int32_t allowed = all_->allowed_tier(job.topology_of(part.sub_job));
    if (allowed < 0) return {{within}};
    HyperNodeId sits = where(part);
    HyperNodeId root = search_root(within, allowed, sits);
    if (!root.valid()) return {};
    Resources needed = part.sub_job < 0 ? job.min_resources : pending_request(part);
    std::map<std::int32_t, std::vector<HyperNodeId>> by_tier;
    std::vector<HyperNodeId> queue{root};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const HyperNode& here = all_->at(queue[i]);
      if (here.tier <= allowed && (sits.valid() || has_room(here, needed)))
        by_tier[here.tier].push_back(queue[i]);
      queue.insert(queue.end(), here.children.begin(), here.children.end());
    }
    std::vector<std::vector<HyperNodeId>> gradient;
    for (auto& [tier, group] : by_tier) gradient.push_back(std::move(group));
    return gradient;
  }

  void hyper_node_score(JobPart part, std::span<const HyperNodeId> hyper_nodes,
                        std::span<double> scores) override {
    if (used_.empty()) return;
    Resources request = pending_request(part);
    std::vector<double> own(hyper_nodes.size());
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = fill_of(hyper_nodes[i], request);
    add_for_company(part, own, [&](std::size_t i) { return hyper_nodes[i]; });
    for (std::size_t i = 0; i < own.size(); ++i) scores[i] += kFullScore * weight_ * own[i];
  }

  // ---- nodes for tasks

  bool concerns(TaskId id) const override {
    if (used_.empty() || weight_ == 0) return false;
    return normal_pods_ || wish_of(id).given;
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    if (wish_of(id).given)
      score_closeness(part_of(id), nodes, scores);
    else
      score_filling(session_->cluster().class_of(session_->at(id)).request, nodes, scores);
  }

 private:
  // Where the placed tasks of a part are, by the lowest hypernode of their nodes.
  struct Placed {
    std::map<HyperNodeId, std::int32_t> count;
    std::int32_t tasks = 0;
  };

  static double not_negative(double value, double otherwise) {
    return value < 0 ? otherwise : value;
  }
  JobPart part_of(TaskId id) const {
    const Task& task = session_->at(id);
    bool divided = task.job.valid() && !session_->at(task.job).sub_jobs.empty();
    return {task.job, divided ? static_cast<std::int32_t>(task.sub_job) : -1};
  }
  const TopologyWish& wish_of(TaskId id) const {
    JobPart part = part_of(id);
    return session_->at(part.job).topology_of(part.sub_job);
  }

  template <class Visit>
  void each_task(JobPart part, Visit visit) const {
    for (TaskId id : session_->at(part.job).tasks)
      if (part.sub_job < 0 || session_->at(id).sub_job == static_cast<std::uint32_t>(part.sub_job))
        visit(session_->at(id));
  }
  Resources pending_request(JobPart part) const {
    Resources sum;
    each_task(part, [&](const Task& task) {
      if (task.status == TaskStatus::pending) sum += session_->cluster().class_of(task).request;
    });
    return sum;
  }

  // ---- where a part sits

  static std::uint64_t key_of(JobPart part) {
    return std::uint64_t{part.job.value} << 32 | static_cast<std::uint32_t>(part.sub_job);
  }
  Placed& placed(JobPart part) {
    auto [known, fresh] = parts_.try_emplace(key_of(part));
    if (!fresh) return known->second;
    each_task(part, [&](const Task& task) {
      ++known->second.tasks;
      bool placed = is_allocated(task.status) || task.status == TaskStatus::pipelined;
      if (placed && all_->of(task.node).valid()) ++known->second.count[all_->of(task.node)];
    });
    return known->second;
  }
  HyperNodeId where(JobPart part) {
    HyperNodeId sits;
    if (used_.empty()) return sits;
    for (const auto& [hyper_node, count] : placed(part).count)
      if (count > 0) sits = all_->common(sits, hyper_node);
    return sits;
  }
  void count(TaskId id, NodeId node, int sign) {
    if (!node.valid()) return;
    const Resources& request = session_->cluster().class_of(session_->at(id)).request;
    HyperNodeId lowest = all_->of(node);
    for (HyperNodeId up = lowest.valid() ? lowest : all_->top(); up.valid();
         up = all_->at(up).parent) {
      if (sign > 0)
        used_[up.index()] += request;
      else
        used_[up.index()] -= request;
    }
    JobPart part = part_of(id);
    if (!part.job.valid() || !lowest.valid()) return;
    for (JobPart one : {part, JobPart{part.job, -1}}) {
      if (auto known = parts_.find(key_of(one)); known != parts_.end())
        known->second.count[lowest] += sign;
      if (part.sub_job < 0) break;
    }
  }

  // The part of `within` in which the rest of a job that sits somewhere may go.
  HyperNodeId search_root(HyperNodeId within, std::int32_t allowed, HyperNodeId sits) const {
    if (!sits.valid()) return within;
    HyperNodeId highest;
    for (HyperNodeId up = sits; up.valid() && all_->at(up).tier <= allowed;
         up = all_->at(up).parent)
      highest = up;
    if (!highest.valid()) return {};
    if (all_->contains(highest, within)) return within;
    return all_->contains(within, highest) ? highest : HyperNodeId();
  }
  bool has_room(const HyperNode& here, const Resources& needed) const {
    Resources idle, future;
    for (NodeId node : here.nodes) {
      idle += session_->cluster().at(node).idle;
      future += session_->cluster().at(node).future_idle();
    }
    return less_equal(needed, idle, Missing::zero) || less_equal(needed, future, Missing::zero);
  }

  // ---- scores, between 0 and 1

  // How full the hypernode would be; 0 if it cannot hold the request.
  double fill_of(HyperNodeId id, const Resources& request) const {
    double sum = 0, total = 0;
    bool over = false;
    each_dim(request.present, [&](Dim d) {
      double weight = by_dim_[d];
      auto after = static_cast<double>(used_[id.index()][d] + request[d]);
      auto most = static_cast<double>(allocatable_[id.index()][d]);
      if (weight == 0) return;
      over |= after > most;
      sum += most == 0 ? 0 : weight * after / most;
      total += weight;
    });
    return over || total <= 0 ? 0 : sum / total;
  }

  // Among equally good ones those with more tasks of the part are better.
  template <class HyperNodeAt>
  void add_for_company(JobPart part, std::span<double> scores, HyperNodeAt hyper_node_at) {
    double best = -1;
    for (double one : scores) best = std::max(best, one);
    if (std::count(scores.begin(), scores.end(), best) < 2) return;
    const Placed& known = placed(part);
    if (known.tasks == 0) return;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] != best || !hyper_node_at(i).valid()) continue;
      std::int32_t there = 0;
      for (const auto& [lowest, count] : known.count)
        if (all_->contains(hyper_node_at(i), lowest)) there += count;
      scores[i] += static_cast<double>(there) / known.tasks;
    }
  }

  void score_closeness(JobPart part, std::span<const NodeId> nodes, std::span<double> scores) {
    HyperNodeId sits = where(part);
    if (!sits.valid()) return;
    std::vector<double> own(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) own[i] = closeness(all_->of(nodes[i]), sits);
    add_for_company(part, own, [&](std::size_t i) { return all_->of(nodes[i]); });
    for (std::size_t i = 0; i < nodes.size(); ++i) scores[i] += kFullScore * weight_ * own[i];
  }
  double closeness(HyperNodeId hyper_node, HyperNodeId sits) const {
    if (!hyper_node.valid()) return 0;
    if (hyper_node == sits) return 1;
    std::int32_t highest = all_->at(all_->top()).tier, lowest = all_->lowest_tier();
    std::int32_t tier = all_->at(all_->common(hyper_node, sits)).tier;
    return highest == lowest ? 1 : static_cast<double>(highest - tier) / (highest - lowest);
  }

  void score_filling(const Resources& request, std::span<const NodeId> nodes,
                     std::span<double> scores) const {
    std::int32_t highest = all_->at(all_->top()).tier;
    double total = 0;
    for (std::int32_t tier = all_->lowest_tier(); tier <= highest; ++tier)
      total += std::pow(fading_, tier - 1);
    if (total <= 0) return;
    boost::unordered_flat_map<std::uint32_t, double> known;  // by lowest hypernode
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      HyperNodeId lowest = all_->of(nodes[i]);
      auto [at, fresh] = known.emplace(lowest.value, total);
      // A tier in which the node has no hypernode counts in full.
      for (HyperNodeId up = lowest.valid() ? lowest : all_->top(); fresh && up.valid();
           up = all_->at(up).parent)
        at->second -= std::pow(fading_, all_->at(up).tier - 1) * (1 - fill_of(up, request));
      scores[i] += kFullScore * weight_ * at->second / total;
    }
  }

  const Session* session_ = nullptr;
  const HyperNodes* all_ = nullptr;
  double weight_;
  WeightedResources weights_;
  bool normal_pods_;
  double fading_;
  std::array<double, kMaxDimensions> by_dim_{};
  std::vector<Resources> used_, allocatable_;  // by hypernode; empty when there are none
  std::vector<NodeId> node_of_;                // by task, of those placed in this session
  boost::unordered_flat_map<std::uint64_t, Placed> parts_;
};

}  // namespace

extern const PluginInfo plugin_network_topology_aware;
const PluginInfo plugin_network_topology_aware{
    "network-topology-aware", "pods of a job close together in the network",
    "weight (1), hypernode.binpack.cpu (1), hypernode.binpack.memory (1), "
    "hypernode.binpack.resources (none), hypernode.binpack.resources.<name> (1), "
    "hypernode.binpack.normal-pod.enable (true), hypernode.binpack.normal-pod.fading (0.8)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<NetworkTopologyAware>(option.arguments);
    }};

}  // namespace hekla::scheduler
