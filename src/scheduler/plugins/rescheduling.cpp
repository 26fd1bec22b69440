// rescheduling: moves pods from busy nodes to idle ones, with the shuffle action. Every `interval`
// (5m) nodes are compared by their real load (the source the configuration names under `metrics`):
// from those above a target threshold pods leave, the busiest node and the least important pod
// first, until the node is below, as long as the nodes below all thresholds have room up to the
// target.
//
// Arguments: interval (5m), strategies [{name: lowNodeUtilization, params: {thresholds {cpu,
// memory}, targetThresholds {cpu, memory}, thresholdPriorityClassName (system-cluster-critical),
// nodeFit (true)}}]; thresholds are percent, 100 if not given.
//
// Differs from Volcano: thresholdPriorityClassName and nodeFit are obeyed: critical pods stay, and
// a pod leaves only if one of the idle nodes could take it; nothing moves before a first interval
// has passed, nor without numbers for a node.
#include <algorithm>

#include "model/time.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr Nanos kInterval = std::chrono::minutes(5);
constexpr Nanos kFresh = std::chrono::minutes(5);

struct Limits {
  double cpu = 100, memory = 100;
  bool operator()(const NodeLoad& load) const { return load.cpu > cpu || load.memory > memory; }
};

Limits limits_at(const json::Value& params, std::string_view name) {
  Limits limits;
  if (const json::Value* given = json::find(params, name); given && given->is_object()) {
    limits.cpu = Arguments(*given).number("cpu", 100);
    limits.memory = Arguments(*given).number("memory", 100);
  }
  return limits;
}

class Rescheduling final : public Plugin {
 public:
  explicit Rescheduling(const Arguments& arguments) {
    interval_ = arguments.duration("interval", kInterval);
    arguments.ignore("metricsPeriod");
    const json::Array* strategies = arguments.list("strategies");
    active_ = strategies == nullptr || strategies->empty();
    for (std::size_t i = 0; strategies != nullptr && i < strategies->size(); ++i) {
      if (json::string_at((*strategies)[i], {"name"}) != "lowNodeUtilization") {
        arguments.complain("strategies", "a list of lowNodeUtilization");
        continue;
      }
      active_ = true;
      const json::Value* params = json::find((*strategies)[i], "params");
      if (params == nullptr || !params->is_object()) continue;
      low_ = limits_at(*params, "thresholds");
      high_ = limits_at(*params, "targetThresholds");
      node_fit_ = Arguments(*params).boolean("nodeFit", true);
      top_class_ = Arguments(*params).text("thresholdPriorityClassName", top_class_);
    }
  }
  Hooks hooks() const override { return hooks_of({Hook::victim_tasks}); }
  void open(Session& session) override {
    session_ = &session;
    if (last_ == WallTime{}) last_ = session.now();
  }

  std::vector<TaskId> victim_tasks(std::span<const TaskId> running) override {
    std::vector<TaskId> victims;
    if (!active_ || session_->services().loads == nullptr || session_->now() < last_ + interval_)
      return victims;
    last_ = session_->now();
    group_nodes();
    if (idle_.empty() || busy_.empty()) return victims;
    Resources room = room_on_idle_nodes();
    std::sort(busy_.begin(), busy_.end(), [](const Measured& a, const Measured& b) {
      return a.load.cpu + a.load.memory > b.load.cpu + b.load.memory;
    });
    for (Measured& node : busy_) relieve(node, running, room, victims);
    return victims;
  }

 private:
  struct Measured {
    NodeId id;
    NodeLoad load;
  };

  void group_nodes() {
    idle_.clear();
    busy_.clear();
    for (std::size_t i = 0; i < session_->cluster().nodes().size(); ++i) {
      const Node& node = session_->cluster().nodes()[i];
      if (!node.live) continue;
      std::optional<NodeLoad> load = session_->services().loads->of(node.name);
      if (!load || session_->now() - load->at > kFresh) continue;
      bool low = load->cpu < low_.cpu && load->memory < low_.memory;
      if (low && !node.shape.unschedulable)
        idle_.push_back({NodeId(i), *load});
      else if (high_(*load))
        busy_.push_back({NodeId(i), *load});
    }
  }
  Resources room_on_idle_nodes() const {
    Resources room;
    auto add = [&](Dim dim, double percent, const Node& node) {
      room.set(dim,
               room[dim] + static_cast<std::int64_t>(
                               percent / 100 * static_cast<double>(node.shape.allocatable[dim])));
    };
    for (const Measured& one : idle_) {
      const Node& node = session_->cluster().at(one.id);
      add(kCpu, high_.cpu - one.load.cpu, node);
      add(kMemory, high_.memory - one.load.memory, node);
    }
    return room;
  }

  void relieve(Measured& node, std::span<const TaskId> running, Resources& room,
               std::vector<TaskId>& victims) {
    std::vector<TaskId> here;
    for (TaskId id : running)
      if (session_->at(id).node == node.id) here.push_back(id);
    std::stable_sort(here.begin(), here.end(), [&](TaskId a, TaskId b) {
      const Task &x = session_->at(a), &y = session_->at(b);
      return x.priority != y.priority ? x.priority < y.priority : rank(x) < rank(y);
    });
    for (TaskId id : here) {
      bool over = node.load.cpu >= high_.cpu || node.load.memory >= high_.memory;
      if (!over || room[kCpu] <= 0 || room[kMemory] <= 0) return;
      const Resources& request = session_->cluster().class_of(session_->at(id)).request;
      if (!may_leave(id)) continue;
      room -= request;
      auto part = [&](Dim dim) {
        auto all = static_cast<double>(session_->cluster().at(node.id).shape.capacity[dim]);
        return all <= 0 ? 0 : 100 * static_cast<double>(request[dim]) / all;
      };
      node.load.cpu -= part(kCpu);
      node.load.memory -= part(kMemory);
      victims.push_back(id);
    }
  }
  // BestEffort before Burstable before Guaranteed.
  static int rank(const Task& task) {
    return task.best_effort ? 0 : task.exclusive.empty() ? 1 : 2;
  }
  bool may_leave(TaskId id) const {
    const Task& task = session_->at(id);
    if (!task.preemptable || task.critical) return false;
    if (std::optional<std::int32_t> top = session_->cluster().priority_value(top_class_);
        top && task.priority >= *top)
      return false;
    if (!node_fit_) return true;
    const Resources& request = session_->cluster().class_of(task).request;
    return std::any_of(idle_.begin(), idle_.end(), [&](const Measured& one) {
      return less_equal(request, session_->cluster().at(one.id).future_idle(), Missing::zero) &&
             session_->passes_filters(id, one.id);
    });
  }

  Session* session_ = nullptr;
  Nanos interval_;
  bool active_ = true, node_fit_ = true;
  Limits low_, high_;
  std::string top_class_ = "system-cluster-critical";
  WallTime last_{};
  std::vector<Measured> idle_, busy_;
};

}  // namespace

extern const PluginInfo plugin_rescheduling;
const PluginInfo plugin_rescheduling{
    "rescheduling", "moves pods from busy nodes to idle ones",
    "interval (5m), strategies [{name: lowNodeUtilization, params: {thresholds, targetThresholds, "
    "thresholdPriorityClassName: system-cluster-critical, nodeFit: true}}]",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Rescheduling>(option.arguments);
    }};

}  // namespace hekla::scheduler
