// binpack: prefers the fullest node that still fits. Score = 100 * weight * (weighted mean, over
// the requested resources that have a weight, of (used + request) / allocatable); zero if any of
// them would exceed the node. Arguments: binpack.weight (1; 0 switches it off), binpack.cpu (1),
// binpack.memory (1), binpack.resources "a, b" and binpack.resources.<name> (1) for others.
#include <array>

#include "scheduler/plugins/weighted_resources.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Binpack final : public Plugin {
 public:
  explicit Binpack(const Arguments& arguments)
      : weight_(arguments.number("binpack.weight", 1)), weights_(arguments, "binpack") {}

  Hooks hooks() const override { return weight_ == 0 ? Hooks() : hooks_of({Hook::node_order}); }
  void open(Session& session) override {
    session_ = &session;
    by_dim_ = weights_.by_dimension(session.cluster().dimensions());
  }

  void score(const PodClass& pods, std::span<const NodeId> nodes,
             std::span<double> scores) override {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      scores[i] += 100 * weight_ * fullness(pods.request, session_->cluster().at(nodes[i]));
  }

 private:
  double fullness(const Resources& request, const Node& node) const {
    double sum = 0, weights = 0;
    for (std::uint32_t mask = request.present; mask != 0; mask &= mask - 1) {
      auto d = static_cast<Dim>(std::countr_zero(mask));
      if (request[d] == 0 || by_dim_[d] == 0) continue;
      std::int64_t capacity = node.shape.allocatable[d], after = node.used[d] + request[d];
      weights += by_dim_[d];
      if (capacity == 0) continue;
      if (after > capacity) return 0;
      sum += by_dim_[d] * static_cast<double>(after) / static_cast<double>(capacity);
    }
    return weights == 0 ? 0 : sum / weights;
  }

  const Session* session_ = nullptr;
  double weight_;
  WeightedResources weights_;
  std::array<double, kMaxDimensions> by_dim_{};
};

}  // namespace

extern const PluginInfo plugin_binpack;
const PluginInfo plugin_binpack{
    "binpack", "prefers the fullest node that fits",
    "binpack.weight (1), binpack.cpu (1), binpack.memory (1), binpack.resources, "
    "binpack.resources.<name> (1)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Binpack>(option.arguments);
    }};

}  // namespace hekla::scheduler
