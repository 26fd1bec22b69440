// binpack: prefers the fullest node that still fits. Score = 100 * weight * (weighted mean, over
// the requested resources that have a weight, of (used + request) / allocatable); zero if any of
// them would exceed the node. Arguments: binpack.weight (1; 0 switches it off), binpack.cpu (1),
// binpack.memory (1), binpack.resources "a, b" and binpack.resources.<name> (1) for others.
#include <array>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Binpack final : public Plugin {
 public:
  explicit Binpack(const Arguments& arguments) : weight_(arguments.number("binpack.weight", 1)) {
    add("cpu", arguments.number("binpack.cpu", 1));
    add("memory", arguments.number("binpack.memory", 1));
    std::string list = arguments.text("binpack.resources");
    for (std::size_t begin = 0; begin < list.size();) {
      std::size_t comma = std::min(list.find(',', begin), list.size());
      std::string name = list.substr(begin, comma - begin);
      std::erase(name, ' ');
      if (!name.empty()) add(name, arguments.number("binpack.resources." + name, 1));
      begin = comma + 1;
    }
  }

  Hooks hooks() const override { return weight_ == 0 ? Hooks() : hooks_of({Hook::node_order}); }
  void open(Session& session) override {
    session_ = &session;
    by_dim_.fill(0);
    for (const auto& [name, weight] : weights_)
      if (std::optional<Dim> dim = session.cluster().dimensions().find(name))
        by_dim_[*dim] = weight;
  }

  void score(const PodClass& pods, std::span<const NodeId> nodes,
             std::span<double> scores) override {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      scores[i] += 100 * weight_ * fullness(pods.request, session_->cluster().at(nodes[i]));
  }

 private:
  void add(std::string name, double weight) {
    weights_.emplace_back(std::move(name), weight < 0 ? 1 : weight);
  }

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
  std::vector<std::pair<std::string, double>> weights_;
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
