// numa-aware: gives Guaranteed pods the cores of as few NUMA nodes as their policy demands, as the
// node's kubelet will (annotation volcano.sh/numa-topology-policy: best-effort, restricted,
// single-numa-node). Nodes describe themselves in Numatopology objects; the policies must be equal
// and the CPU manager static. Fewer NUMA nodes score better, 0 to 100. What was decided is written
// at the binding as volcano.sh/topology-decision. Argument: weight (1).
//
// Differs from Volcano: cores count as taken until the node's object lists the pod (or, on nodes
// that list none, until it changes while the pod runs), so that nothing is lost between sessions.
// Cores of one NUMA node are taken in the order of sockets and cores, not by the kubelet's search
// for whole sockets first.
#include <algorithm>
#include <bit>
#include <bitset>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "model/quantity.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr std::size_t kMostCpus = 1024;
constexpr int kMostNumaNodes = 16;
using CpuSet = std::bitset<kMostCpus>;
using NumaMask = std::uint32_t;

enum class NumaPolicy : std::uint8_t { none, best_effort, restricted, single_node };

NumaPolicy policy_named(std::string_view name) {
  if (name == "best-effort") return NumaPolicy::best_effort;
  if (name == "restricted") return NumaPolicy::restricted;
  if (name == "single-numa-node") return NumaPolicy::single_node;
  return NumaPolicy::none;
}

// "0-3,8".
CpuSet parse_cpus(std::string_view text) {
  CpuSet out;
  while (!text.empty()) {
    std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    std::size_t first = 0, last = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc()) continue;
    last = first;
    if (end != part.data() + part.size() && *end == '-')
      std::from_chars(end + 1, part.data() + part.size(), last);
    for (std::size_t cpu = first; cpu <= last && cpu < kMostCpus; ++cpu) out.set(cpu);
  }
  return out;
}

struct NumaHint {
  NumaMask mask = 0;
  bool preferred = false;
};

// What a node says of itself.
struct NumaInfo {
  std::uint64_t read_at = 0;  // the version of the objects it was read from
  bool cpus_static = false;
  std::string policy_name;
  NumaPolicy policy = NumaPolicy::none;
  CpuSet allocatable;
  std::map<int, CpuSet> numa_nodes;         // cores by NUMA node
  std::vector<std::size_t> order;           // cores as they are taken
  std::set<std::string, std::less<>> pods;  // uids it has counted
  bool lists_pods = false;

  NumaMask everywhere() const {
    NumaMask mask = 0;
    for (const auto& [numa, cpus] : numa_nodes) mask |= 1u << numa;
    return mask;
  }
  CpuSet cpus_in(NumaMask mask) const {
    CpuSet out;
    for (const auto& [numa, cpus] : numa_nodes)
      if ((mask >> numa & 1u) != 0) out |= cpus;
    return out;
  }
  CpuSet take(const CpuSet& from, std::size_t count) const {
    CpuSet out;
    for (std::size_t cpu : order) {
      if (count == 0) break;
      if (!from.test(cpu)) continue;
      out.set(cpu);
      --count;
    }
    return out;
  }
};

NumaInfo read_numa(const json::Value& body) {
  NumaInfo info;
  const json::Value* spec = json::find(body, "spec");
  if (spec == nullptr) return info;
  info.cpus_static = json::string_at(*spec, {"policies", "CPUManagerPolicy"}) == "static";
  info.policy_name = std::string(json::string_at(*spec, {"policies", "TopologyManagerPolicy"}));
  info.policy = policy_named(info.policy_name);
  info.allocatable = parse_cpus(json::string_at(*spec, {"numares", "cpu", "allocatable"}));
  std::vector<std::tuple<int, std::int64_t, std::int64_t, std::size_t>> cores;
  if (const json::Object* detail = json::object_at(*spec, {"cpuDetail"})) {
    for (const auto& member : *detail) {
      std::size_t cpu = kMostCpus;
      std::string_view key = member.key();
      std::from_chars(key.data(), key.data() + key.size(), cpu);
      auto numa = static_cast<int>(json::int_at(member.value(), {"numa"}));
      if (cpu >= kMostCpus || numa < 0 || numa >= kMostNumaNodes) continue;
      info.numa_nodes[numa].set(cpu);
      cores.emplace_back(numa, json::int_at(member.value(), {"socket"}),
                         json::int_at(member.value(), {"core"}), cpu);
    }
  }
  std::sort(cores.begin(), cores.end());
  for (const auto& core : cores) info.order.push_back(std::get<3>(core));
  // The kubelet keeps the first ones for itself.
  if (const json::Value* reserved = json::find_path(*spec, {"resReserved", "cpu"}))
    if (Result<model::Quantity> amount = model::Quantity::from_json(*reserved)) {
      CpuSet all = info.cpus_in(info.everywhere());
      auto count = static_cast<std::size_t>(std::max<std::int64_t>(amount->value(), 0));
      info.allocatable &= ~info.take(all, count);
    }
  if (const json::Array* pods = json::array_at(*spec, {"podAllocations"})) {
    info.lists_pods = true;
    for (const json::Value& pod : *pods) info.pods.emplace(json::string_at(pod, {"uid"}));
  }
  return info;
}

// Which NUMA nodes could give so many cores; those that need the fewest are preferred.
std::vector<NumaHint> hints_for(const NumaInfo& info, const CpuSet& free, std::size_t cpus) {
  std::vector<NumaHint> hints;
  int fewest = static_cast<int>(info.numa_nodes.size());
  NumaMask all = info.everywhere();
  for (NumaMask mask = 1; mask <= all; ++mask) {
    if ((mask & ~all) != 0) continue;
    if (info.cpus_in(mask).count() >= cpus) fewest = std::min(fewest, std::popcount(mask));
    if ((free & info.cpus_in(mask)).count() >= cpus) hints.push_back({mask, false});
  }
  for (NumaHint& hint : hints) hint.preferred = std::popcount(hint.mask) == fewest;
  return hints;
}

// The best by the policy; nothing if it admits none.
std::optional<NumaHint> best_hint(const NumaInfo& info, const std::vector<NumaHint>& hints) {
  NumaHint best{info.everywhere(), false};
  for (const NumaHint& hint : hints) {
    bool single = std::popcount(hint.mask) == 1;
    if (info.policy == NumaPolicy::single_node && (!single || !hint.preferred)) continue;
    if (hint.preferred != best.preferred) {
      if (hint.preferred) best = hint;
      continue;
    }
    int width = std::popcount(hint.mask), known = std::popcount(best.mask);
    if (width < known || (width == known && hint.mask < best.mask)) best = hint;
  }
  bool strict = info.policy == NumaPolicy::restricted || info.policy == NumaPolicy::single_node;
  if (strict && !best.preferred) return std::nullopt;
  return best;
}

class NumaAware final : public Plugin {
 public:
  explicit NumaAware(const Arguments& arguments) : weight_(arguments.number("weight", 1)) {}
  Hooks hooks() const override {
    return hooks_of(
        {Hook::task_predicate, Hook::batch_node_order, Hook::reserve, Hook::prepare_bind});
  }

  void open(Session& session) override {
    session_ = &session;
    read_changes();
    forget_counted();
  }

  bool concerns(TaskId id) const override {
    return !session_->at(id).exclusive.empty() && (!nodes_.empty() || wants_policy(id));
  }

  void filter_task(TaskId id, std::span<const NodeId> nodes, std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (reasons[i] != kFeasible) continue;
      if (std::string objection = objection_of(id, nodes[i]); !objection.empty())
        reasons[i] = session_->reasons().intern(objection);
    }
  }

  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    if (!wants_policy(id)) return;
    std::vector<std::int64_t> used(nodes.size());
    std::int64_t most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto info = nodes_.find(nodes[i]);
      if (info == nodes_.end()) continue;
      if (std::optional<CpuSet> cpus = assign(id, nodes[i], nullptr))
        used[i] = static_cast<std::int64_t>(by_numa(*info->second, *cpus).size());
      most = std::max(most, used[i]);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
      scores[i] += weight_ * static_cast<double>(most == 0 ? 100 : 100 - 100 * used[i] / most);
  }

  bool reserve(TaskId id, NodeId node) override {
    if (!is_managed(id, node)) return true;
    std::optional<CpuSet> cpus = assign(id, node, nullptr);
    if (!cpus) return false;
    taken_[session_->at(id).uid] = {node, *cpus, nodes_.at(node)->read_at};
    return true;
  }
  void unreserve(TaskId id, NodeId) override { taken_.erase(session_->at(id).uid); }

  void prepare_bind(TaskId id, NodeId node, BindPreparation& with) override {
    auto taken = taken_.find(session_->at(id).uid);
    if (taken == taken_.end() || !wants_policy(id)) return;
    json::Object numa;
    for (const auto& [which, count] : by_numa(*nodes_.at(node), taken->second.cpus))
      numa[std::to_string(which)] = json::Object{{"cpu", std::to_string(count)}};
    with.annotations.emplace_back("volcano.sh/topology-decision",
                                  json::serialize(json::Object{{"numa", std::move(numa)}}));
  }

 private:
  struct Taken {
    NodeId node;
    CpuSet cpus;
    std::uint64_t seen = 0;
  };

  void read_changes() {
    const Cluster& cluster = session_->cluster();
    const Companions& companions = cluster.companions();
    std::uint64_t version = companions.version(CompanionKind::numa_topology);
    if (version == seen_ && shapes_ == cluster.shape_version()) return;
    companions.catch_up(
        CompanionKind::numa_topology, seen_,
        [&](auto visit) {
          for (const auto& [name, info] : infos_) visit(name);
        },
        [&](const std::string& name, const Companion* object) {
          infos_.erase(name);
          if (object == nullptr) return;
          NumaInfo& info = infos_[name] = read_numa(object->body);
          info.read_at = version;
        });
    shapes_ = cluster.shape_version();
    nodes_.clear();
    for (const auto& [name, info] : infos_)
      if (NodeId node = cluster.find_node(name); node.valid()) nodes_[node] = &info;
  }
  // Cores of pods that are gone, or that the node has counted itself.
  void forget_counted() {
    std::map<std::string_view, const Task*> live;
    if (taken_.empty()) return;
    for (const Task& task : session_->cluster().tasks())
      if (task.live && !task.exclusive.empty()) live[task.uid] = &task;
    std::erase_if(taken_, [&](const auto& one) {
      const auto& [uid, taken] = one;
      auto task = live.find(uid);
      auto info = nodes_.find(taken.node);
      if (task == live.end() || task->second->node != taken.node || info == nodes_.end())
        return true;
      if (info->second->lists_pods) return info->second->pods.contains(uid);
      return task->second->status == TaskStatus::running && info->second->read_at > taken.seen;
    });
  }

  std::string_view policy_of(TaskId id) const {
    return session_->cluster()
        .class_of(session_->at(id))
        .annotation("volcano.sh/numa-topology-policy");
  }
  bool wants_policy(TaskId id) const { return policy_named(policy_of(id)) != NumaPolicy::none; }
  // Whether the node's kubelet will align the pod's cores at all.
  bool is_managed(TaskId id, NodeId node) const {
    auto info = nodes_.find(node);
    if (info == nodes_.end() || !info->second->cpus_static) return false;
    return wants_policy(id) || info->second->policy != NumaPolicy::none;
  }

  std::string objection_of(TaskId id, NodeId node) const {
    auto info = nodes_.find(node);
    if (wants_policy(id)) {
      if (info == nodes_.end()) return "numa info is empty";
      if (!info->second->cpus_static) return "cpu manager policy isn't static";
      if (policy_of(id) != info->second->policy_name)
        return "task topology policy[" + std::string(policy_of(id)) + "] is different with node[" +
               info->second->policy_name + "]";
      if (free_on(node).none()) return "cpu allocatable map is empty";
    } else if (!is_managed(id, node)) {
      return {};
    }
    std::string container;
    if (assign(id, node, &container)) return {};
    return "container " + container + " cannot be assigned by numa";
  }

  CpuSet free_on(NodeId node) const {
    CpuSet free = nodes_.at(node)->allocatable;
    for (const auto& [uid, taken] : taken_)
      if (taken.node == node) free &= ~taken.cpus;
    return free;
  }
  // The cores the pod's containers get, one container after another.
  std::optional<CpuSet> assign(TaskId id, NodeId node, std::string* refused) const {
    const NumaInfo& info = *nodes_.at(node);
    CpuSet free = free_on(node), all;
    for (const ExclusiveCpus& container : session_->at(id).exclusive) {
      auto wanted = static_cast<std::size_t>(container.cpus);
      if (wanted == 0) continue;
      std::optional<NumaHint> best = best_hint(info, hints_for(info, free, wanted));
      if (!best) {
        if (refused != nullptr) *refused = container.name;
        return std::nullopt;
      }
      CpuSet cpus = info.take(free & info.cpus_in(best->mask), wanted);
      cpus |= info.take(free & ~cpus, wanted - cpus.count());
      free &= ~cpus;
      all |= cpus;
    }
    return all;
  }
  static std::map<int, std::size_t> by_numa(const NumaInfo& info, const CpuSet& cpus) {
    std::map<int, std::size_t> out;
    for (const auto& [numa, own] : info.numa_nodes)
      if (std::size_t count = (own & cpus).count(); count > 0) out[numa] = count;
    return out;
  }

  Session* session_ = nullptr;
  double weight_;
  std::uint64_t seen_ = 0;
  std::uint64_t shapes_ = 0;
  std::map<std::string, NumaInfo> infos_;  // by node name
  std::map<NodeId, const NumaInfo*> nodes_;
  std::map<std::string, Taken, std::less<>> taken_;  // by pod uid
};

}  // namespace

extern const PluginInfo plugin_numa_aware;
const PluginInfo plugin_numa_aware{"numa-aware", "cores of few NUMA nodes for Guaranteed pods",
                                   "weight (1)",
                                   [](const PluginOption& option) -> std::unique_ptr<Plugin> {
                                     return std::make_unique<NumaAware>(option.arguments);
                                   }};

}  // namespace hekla::scheduler
