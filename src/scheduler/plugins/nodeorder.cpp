// nodeorder: the Kubernetes scores, each 0 to 100 in whole numbers, times a weight: free room
// (leastrequested.weight 1), used room (mostrequested.weight 0), balance of resources
// (balancedresource.weight 1), preferred node affinity (nodeaffinity.weight 2), soft taints
// (tainttoleration.weight 3), images already present (imagelocality.weight 1), preferred pod
// affinity from both sides (podaffinity.weight 2), soft topology spread (podtopologyspread.weight
// 2). The last two are known only with all candidates at hand, so pods that have to do with them
// are scored one by one. Room is counted without the pods that were evicted in this session, as in
// Volcano.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr std::int64_t kMegabyte = 1024 * 1024;
constexpr std::int64_t kMinImageScore = 23 * kMegabyte;
constexpr std::int64_t kMaxImageScorePerContainer = 1000 * kMegabyte;
const Evicted kNobody;

std::int64_t least_requested(std::int64_t requested, std::int64_t capacity) {
  if (capacity == 0 || requested > capacity) return 0;
  return (capacity - requested) * 100 / capacity;
}

std::int64_t most_requested(std::int64_t requested, std::int64_t capacity) {
  if (capacity == 0) return 0;
  return std::min(requested, capacity) * 100 / capacity;
}

class NodeOrder final : public Plugin {
 public:
  explicit NodeOrder(const Arguments& arguments)
      : least_(arguments.number("leastrequested.weight", 1)),
        most_(arguments.number("mostrequested.weight", 0)),
        balanced_(arguments.number("balancedresource.weight", 1)),
        images_(arguments.number("imagelocality.weight", 1)),
        affinity_(arguments.number("nodeaffinity.weight", 2)),
        neighbours_(arguments.number("podaffinity.weight", 2)),
        spread_(arguments.number("podtopologyspread.weight", 2)),
        normalized_{{{arguments.number("tainttoleration.weight", 3), true}}} {}

  Hooks hooks() const override { return hooks_of({Hook::node_order, Hook::batch_node_order}); }
  void open(Session& session) override {
    session_ = &session;
    gpu_ = session.cluster().dimensions().find("nvidia.com/gpu");
  }

  void score(const PodClass& pods, std::span<const NodeId> nodes,
             std::span<double> scores) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = session_->cluster().at(nodes[i]);
      const Evicted* evicted = session_->cluster().evicted_from(nodes[i]);
      const Evicted& gone = evicted ? *evicted : kNobody;
      double sum = 0;
      if (least_ != 0)
        sum += least_ * static_cast<double>(average<least_requested>(pods, node, gone));
      if (most_ != 0) sum += most_ * static_cast<double>(average<most_requested>(pods, node, gone));
      if (balanced_ != 0) sum += balanced_ * static_cast<double>(balance(pods, node, gone));
      if (images_ != 0 && !node.shape.images.empty())
        sum += images_ * static_cast<double>(image_locality(pods, node));
      // Not normalised, as in Volcano: the weights in the pod count as they are written.
      if (!pods.preferred_terms.empty())
        sum += affinity_ * static_cast<double>(preferred_weight(pods, node));
      scores[i] += sum;
    }
  }

  std::span<const NormalizedScore> normalized_scores() const override { return normalized_; }
  void raw_score(std::size_t, const PodClass& pods, std::span<const NodeId> nodes,
                 std::span<std::int64_t> raw) override {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = session_->cluster().at(nodes[i]);
      raw[i] = soft_taints(pods, node);
    }
  }

  bool concerns(TaskId id) const override {
    const ClassTerms& terms = session_->cluster().class_of(session_->at(id)).terms;
    if (terms.empty()) return false;
    return (neighbours_ != 0 && (!terms.preferred.empty() || is_drawn(terms))) ||
           (spread_ != 0 && is_softly_spread(terms));
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    const ClassTerms& terms = session_->cluster().class_of(session_->at(id)).terms;
    if (neighbours_ != 0) score_neighbours(terms, nodes, scores);
    if (spread_ != 0 && is_softly_spread(terms)) score_spread(terms, nodes, scores);
  }

 private:
  bool is_drawn(const ClassTerms& terms) const {
    return std::any_of(terms.matched.begin(), terms.matched.end(), [&](TermId id) {
      return session_->cluster().terms().at(id).spec.use == TermUse::scored;
    });
  }
  static bool is_softly_spread(const ClassTerms& terms) {
    return std::any_of(terms.spread.begin(), terms.spread.end(),
                       [](const ClassTerms::Spread& spread) { return spread.soft; });
  }

  // What the pod wants of those already there, and they of it; from the least to the most of the
  // candidates is 0 to 100.
  void score_neighbours(const ClassTerms& own, std::span<const NodeId> nodes,
                        std::span<double> scores) const {
    const PodTerms& terms = session_->cluster().terms();
    std::vector<std::int64_t> raw(nodes.size(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ClassTerms::Weighted& one : own.preferred)
        raw[i] +=
            std::int64_t{one.weight} * terms.at(one.term).at(terms.domain(one.term, nodes[i]));
      for (TermId id : own.matched) {
        if (terms.at(id).spec.use != TermUse::scored) continue;
        std::uint32_t domain = terms.domain(id, nodes[i]);
        if (domain != Topology::kNone) raw[i] += terms.at(id).carried[domain];
      }
    }
    auto [least, most] = std::minmax_element(raw.begin(), raw.end());
    if (raw.empty() || *least == *most) return;
    std::int64_t low = *least, range = *most - low;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      scores[i] += neighbours_ * static_cast<double>(100 * (raw[i] - low) / range);
  }

  // Fewer matching pods in the node's domains are better; nodes outside the topologies get nothing.
  void score_spread(const ClassTerms& own, std::span<const NodeId> nodes,
                    std::span<double> scores) const {
    const PodTerms& terms = session_->cluster().terms();
    std::vector<bool> outside(nodes.size(), false);
    std::vector<double> sums(nodes.size(), 0.0);
    for (const ClassTerms::Spread& spread : own.spread) {
      if (!spread.soft) continue;
      const PodTerm& term = terms.at(spread.term);
      std::vector<bool> seen(term.count.size(), false);
      std::size_t domains = 0;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        std::uint32_t domain = terms.domain(spread.term, nodes[i]);
        if (domain == Topology::kNone)
          outside[i] = true;
        else if (!seen[domain])
          seen[domain] = true, ++domains;
      }
      double weight = std::log(static_cast<double>(domains + 2));
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        std::int32_t here = std::max(term.at(terms.domain(spread.term, nodes[i])), 0);
        sums[i] += here * weight + (spread.max_skew - 1);
      }
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (outside[i]) continue;
      least = std::min(least, static_cast<std::int64_t>(std::llround(sums[i])));
      most = std::max(most, static_cast<std::int64_t>(std::llround(sums[i])));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (outside[i]) continue;
      std::int64_t score = most == 0 ? 100 : 100 * (most + least - std::llround(sums[i])) / most;
      scores[i] += spread_ * static_cast<double>(score);
    }
  }

  template <std::int64_t (*Score)(std::int64_t, std::int64_t)>
  static std::int64_t average(const PodClass& pods, const Node& node, const Evicted& gone) {
    std::int64_t sum = 0, weights = 0;
    auto add = [&](std::int64_t requested, std::int64_t capacity) {
      if (capacity == 0) return;
      sum += Score(requested, capacity);
      ++weights;
    };
    add(node.nonzero_cpu - gone.nonzero_cpu + pods.nonzero_cpu, node.shape.allocatable[kCpu]);
    add(node.nonzero_memory - gone.nonzero_memory + pods.nonzero_memory,
        node.shape.allocatable[kMemory]);
    return weights == 0 ? 0 : sum / weights;
  }

  std::int64_t balance(const PodClass& pods, const Node& node, const Evicted& gone) const {
    if (pods.best_effort) return 0;
    std::array<double, 3> parts{};
    std::size_t count = 0;
    auto add = [&](Dim d) {
      auto capacity = static_cast<double>(node.shape.allocatable[d]);
      if (capacity == 0) return;
      auto requested =
          static_cast<double>(node.used[d] - gone.request[d] + node.pipelined[d] + pods.request[d]);
      parts[count++] = std::min(requested / capacity, 1.0);
    };
    add(kCpu);
    add(kMemory);
    if (gpu_ && pods.request[*gpu_] > 0) add(*gpu_);
    double deviation = 0;
    if (count == 2) {
      deviation = std::fabs(parts[0] - parts[1]) / 2;
    } else if (count > 2) {
      double mean = (parts[0] + parts[1] + parts[2]) / 3, squares = 0;
      for (double part : parts) squares += (part - mean) * (part - mean);
      deviation = std::sqrt(squares / 3);
    }
    return static_cast<std::int64_t>((1 - deviation) * 100);
  }

  std::int64_t image_locality(const PodClass& pods, const Node& node) const {
    const Cluster& cluster = session_->cluster();
    std::int64_t sum = 0;
    for (NameId wanted : pods.images)
      for (const NodeImage& image : node.shape.images) {
        if (image.name != wanted) continue;
        double spread = static_cast<double>(cluster.nodes_with_image(wanted)) /
                        static_cast<double>(cluster.live_nodes());
        sum += static_cast<std::int64_t>(static_cast<double>(image.size_bytes) * spread);
        break;
      }
    std::int64_t limit = kMaxImageScorePerContainer * std::max(pods.containers, 1);
    sum = std::clamp(sum, kMinImageScore, limit);
    return 100 * (sum - kMinImageScore) / (limit - kMinImageScore);
  }

  std::int64_t preferred_weight(const PodClass& pods, const Node& node) const {
    std::int64_t sum = 0;
    for (const PreferredTerm& preferred : pods.preferred_terms)
      if (matches(preferred.term, node, session_->cluster().names())) sum += preferred.weight;
    return sum;
  }

  static std::int64_t soft_taints(const PodClass& pods, const Node& node) {
    return std::count_if(
        node.shape.taints.begin(), node.shape.taints.end(), [&](const Taint& taint) {
          return taint.effect == Effect::prefer_no_schedule && !pods.tolerates(taint);
        });
  }

  const Session* session_ = nullptr;
  std::optional<Dim> gpu_;
  double least_, most_, balanced_, images_, affinity_, neighbours_, spread_;
  std::array<NormalizedScore, 1> normalized_;
};

}  // namespace

extern const PluginInfo plugin_nodeorder;
const PluginInfo plugin_nodeorder{
    "nodeorder", "the Kubernetes scores",
    "leastrequested.weight (1), mostrequested.weight (0), balancedresource.weight (1), "
    "nodeaffinity.weight (2), tainttoleration.weight (3), imagelocality.weight (1), "
    "podaffinity.weight (2), podtopologyspread.weight (2)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<NodeOrder>(option.arguments);
    }};

}  // namespace hekla::scheduler
