// usage: keeps pods off nodes that are really busy, whatever has been requested on them. A node
// whose load was above a threshold on average takes no more pods; of the others the idler is
// better: score = ((1 - cpu) * cpu.weight + (1 - memory) * memory.weight) / (sum of weights) * 100
// * usage.weight. The numbers come from the source the configuration names under `metrics`; those
// older than five minutes count for nothing.
//
// Arguments: usage.weight (5), cpu.weight (1), memory.weight (1), thresholds {cpu: 80, mem: 80};
// estimator {enable, request_ratio (0.7), risk_threshold (0.6), risk_factor (1.2), be_cpu (250m),
// be_mem (200Mi)}: pods placed since the numbers were taken count with this part of their requests
// (BestEffort ones with be_cpu and be_mem), and with risk_factor times that on a node whose load is
// above risk_threshold.
#include <algorithm>

#include "model/quantity.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr Nanos kValidFor = std::chrono::minutes(5);

std::int64_t milli_at(const Arguments& part, std::string_view name, std::int64_t otherwise) {
  const json::Value* given = part.find(name);
  if (given == nullptr) return otherwise;
  Result<model::Quantity> amount = model::Quantity::from_json(*given);
  if (!amount) part.complain(name, "a quantity");
  return amount ? amount->milli_value() : otherwise;
}

class Usage final : public Plugin {
 public:
  explicit Usage(const Arguments& arguments)
      : weight_(arguments.number("usage.weight", 5)),
        cpu_weight_(arguments.number("cpu.weight", 1)),
        memory_weight_(arguments.number("memory.weight", 1)) {
    const Arguments thresholds = arguments.part("thresholds");
    cpu_limit_ = thresholds.number("cpu", 80);
    memory_limit_ = thresholds.number("mem", 80);
    const Arguments estimator = arguments.part("estimator");
    estimates_ = arguments.find("estimator") != nullptr && estimator.boolean("enable", true);
    request_ratio_ = estimator.number("request_ratio", 0.7);
    risk_threshold_ = estimator.number("risk_threshold", 0.6);
    risk_factor_ = estimator.number("risk_factor", 1.2);
    be_cpu_ = milli_at(estimator, "be_cpu", 250);
    be_memory_ = milli_at(estimator, "be_mem", 200LL * 1024 * 1024 * 1000) / 1000;
  }
  Hooks hooks() const override { return hooks_of({Hook::predicate, Hook::node_order}); }

  void open(Session& session) override {
    session_ = &session;
    busy_cpu_ = session.reasons().intern("the CPU load of the node exceeds the upper limit.");
    busy_memory_ = session.reasons().intern("the memory load of the node exceeds the upper limit.");
    std::vector<Load> loads(session.cluster().nodes().size());
    if (const NodeLoads* source = session.services().loads)
      for (std::size_t i = 0; i < loads.size(); ++i) {
        std::optional<NodeLoad> load = source->of(session.cluster().nodes()[i].name);
        if (load && session.now() - load->at <= kValidFor)
          loads[i] = {true, load->cpu, load->memory, load->at};
      }
    if (loads == loads_) return;
    loads_ = std::move(loads);
    ++epoch_;
  }
  std::uint64_t epoch(const PodClass&) const override { return epoch_; }

  void filter(const PodClass&, std::span<const NodeId> nodes,
              std::span<ReasonId> reasons) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Load& load = loads_[nodes[i].index()];
      if (!load.known || reasons[i] != kFeasible) continue;
      if (load.cpu > cpu_limit_)
        reasons[i] = busy_cpu_;
      else if (load.memory > memory_limit_)
        reasons[i] = busy_memory_;
    }
  }

  void score(const PodClass&, std::span<const NodeId> nodes, std::span<double> scores) override {
    double weights = cpu_weight_ + memory_weight_;
    if (weights <= 0) return;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Load load = loads_[nodes[i].index()];
      if (!load.known) continue;
      if (estimates_) add_estimate(nodes[i], load);
      double idle =
          (100 - load.cpu) / 100 * cpu_weight_ + (100 - load.memory) / 100 * memory_weight_;
      scores[i] += idle / weights * 100 * weight_;
    }
  }

 private:
  struct Load {
    bool known = false;
    double cpu = 0, memory = 0;  // percent
    WallTime at{};
    bool operator==(const Load&) const = default;
  };

  void add_estimate(NodeId id, Load& load) const {
    const Node& node = session_->cluster().at(id);
    double cpu = 0, memory = 0;
    for (TaskId other : node.tasks) {
      const Task& task = session_->at(other);
      if (task.started != WallTime{} && task.started <= load.at) continue;
      const PodClass& pods = session_->cluster().class_of(task);
      cpu += pods.best_effort ? static_cast<double>(be_cpu_)
                              : request_ratio_ * static_cast<double>(pods.request[kCpu]);
      memory += pods.best_effort ? static_cast<double>(be_memory_)
                                 : request_ratio_ * static_cast<double>(pods.request[kMemory]);
    }
    auto percent = [&](double amount, Dim dim, double now) {
      auto all = static_cast<double>(node.shape.allocatable[dim]);
      double risk = now > 100 * risk_threshold_ ? risk_factor_ : 1;
      return all <= 0 ? now : std::min(100.0, now + 100 * risk * amount / all);
    };
    load.cpu = percent(cpu, kCpu, load.cpu);
    load.memory = percent(memory, kMemory, load.memory);
  }

  const Session* session_ = nullptr;
  double weight_, cpu_weight_, memory_weight_;
  double cpu_limit_ = 80, memory_limit_ = 80;
  bool estimates_ = false;
  double request_ratio_ = 0.7, risk_threshold_ = 0.6, risk_factor_ = 1.2;
  std::int64_t be_cpu_ = 0, be_memory_ = 0;
  std::vector<Load> loads_;  // by node
  std::uint64_t epoch_ = 0;
  ReasonId busy_cpu_ = 0, busy_memory_ = 0;
};

}  // namespace

extern const PluginInfo plugin_usage;
const PluginInfo plugin_usage{
    "usage", "keeps pods off nodes that are really busy",
    "usage.weight (5), cpu.weight (1), memory.weight (1), thresholds {cpu: 80, mem: 80}, "
    "estimator {request_ratio: 0.7, risk_threshold: 0.6, risk_factor: 1.2, be_cpu: 250m, "
    "be_mem: 200Mi}",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Usage>(option.arguments);
    }};

}  // namespace hekla::scheduler
