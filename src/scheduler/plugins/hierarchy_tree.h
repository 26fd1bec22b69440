// The tree of hierarchical dominant resource fairness: inner nodes from the queues' annotations
// (volcano.sh/hierarchy "root/eng/dev", volcano.sh/hierarchy-weights "1/2/8"), leaves are jobs.
//
// A leaf is saturated once some resource it asks for is all it asked for, or is used up in the
// cluster. An inner node counts its unsaturated children scaled down to the smallest dominant share
// among them, so that a greedy child does not make its siblings look rich. Volcano's drf plugin
// with enableHierarchy.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/session/session.h"

namespace hekla::scheduler {

class HierarchyTree {
 public:
  void build(const Session& session) {
    nodes_.assign(1, Node{});
    for (JobId id : session.jobs()) {
      const Job& job = session.at(id);
      std::size_t at = path_of(session.at(job.queue));
      nodes_[at].children.push_back(nodes_.size());
      Node leaf;
      leaf.job = id;
      leaf.request = job.allocated;
      leaf.request += job.pending_request;
      nodes_.push_back(std::move(leaf));
    }
  }

  // Reads what the jobs hold now. `moved`, if given, is taken from one job and given to another.
  struct Move {
    JobId from, to;
    const Resources* amount = nullptr;
  };
  void refresh(const Session& session, const Move* moved = nullptr) {
    const Resources& total = session.cluster().total();
    Shares held;
    for (Node& node : nodes_) {
      if (!node.job.valid()) continue;
      node.allocated = to_shares(session.at(node.job).claimed);
      if (moved != nullptr && moved->from == node.job) node.allocated -= *moved->amount;
      if (moved != nullptr && moved->to == node.job) node.allocated += *moved->amount;
      node.share = dominant_share(node.allocated, total);
      held += node.allocated;
    }
    std::uint32_t left = 0;  // dimensions that are not used up
    each_dim(total.present, [&](Dim d) {
      if (held[d] < static_cast<double>(total[d])) left |= 1u << d;
    });
    update(0, total, left);
  }

  // Negative: a's queue goes first. Walks down from the root while both sides are equal.
  int compare(const Queue& a, const Queue& b) const {
    std::size_t x = 0, y = 0;
    std::vector<std::string_view> xs = split(a.hierarchy), ys = split(b.hierarchy);
    std::size_t depth = std::min(xs.size(), ys.size());
    for (std::size_t i = 0; i < depth; ++i) {
      const Node &l = nodes_[x], &r = nodes_[y];
      if (l.saturated != r.saturated) return r.saturated ? -1 : 1;
      double left = l.share / l.weight, right = r.share / r.weight;
      if (left != right) return left < right ? -1 : 1;
      if (i + 1 == depth) break;
      x = child(x, xs[i + 1]);
      y = child(y, ys[i + 1]);
      if (x == kNone || y == kNone) break;
    }
    return 0;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Node {
    std::string name;
    double weight = 1;
    JobId job;  // of a leaf
    std::vector<std::size_t> children;
    Resources request;
    Shares allocated;
    double share = 0;
    bool saturated = false;
  };

  static std::vector<std::string_view> split(std::string_view path) {
    std::vector<std::string_view> out;
    while (true) {
      std::size_t slash = path.find('/');
      out.push_back(path.substr(0, slash));
      if (slash == std::string_view::npos) return out;
      path.remove_prefix(slash + 1);
    }
  }

  std::size_t child(std::size_t parent, std::string_view name) const {
    for (std::size_t at : nodes_[parent].children)
      if (!nodes_[at].job.valid() && nodes_[at].name == name) return at;
    return kNone;
  }

  // The inner node of a queue, made on the way down. Weights below one count as one.
  std::size_t path_of(const Queue& queue) {
    std::vector<std::string_view> names = split(queue.hierarchy);
    std::vector<std::string_view> weights = split(queue.hierarchy_weights);
    std::size_t at = 0;
    for (std::size_t i = 1; i < names.size(); ++i) {
      std::size_t next = child(at, names[i]);
      if (next == kNone) {
        Node made;
        made.name = std::string(names[i]);
        if (i < weights.size())
          std::from_chars(weights[i].data(), weights[i].data() + weights[i].size(), made.weight);
        made.weight = std::max(made.weight, 1.0);
        next = nodes_.size();
        nodes_[at].children.push_back(next);
        nodes_.push_back(std::move(made));
      }
      at = next;
    }
    return at;
  }

  static bool leaf_saturated(const Node& leaf, std::uint32_t left) {
    for (std::uint32_t mask = leaf.allocated.present | leaf.request.present; mask != 0;
         mask &= mask - 1) {
      auto d = static_cast<Dim>(std::countr_zero(mask));
      auto wanted = static_cast<double>(leaf.request[d]);
      if (wanted == 0) continue;
      if (leaf.allocated[d] != 0 && leaf.allocated[d] >= wanted) return true;
      if ((left >> d & 1u) == 0) return true;
    }
    return false;
  }

  void update(std::size_t at, const Resources& total, std::uint32_t left) {
    if (nodes_[at].job.valid()) {
      nodes_[at].saturated = leaf_saturated(nodes_[at], left);
      return;
    }
    double smallest = 1;
    bool saturated = true;
    for (std::size_t c : nodes_[at].children) {
      update(c, total, left);
      const Node& child = nodes_[c];
      saturated &= child.saturated;
      if (child.share != 0 && !child.saturated) smallest = std::min(smallest, child.share);
    }
    Shares sum;
    for (std::size_t c : nodes_[at].children) {
      const Node& child = nodes_[c];
      if (child.share == 0) continue;
      double scale = child.saturated ? 1 : smallest / child.share;
      each_dim(child.allocated.present,
               [&](Dim d) { sum.set(d, sum[d] + child.allocated[d] * scale); });
    }
    Node& node = nodes_[at];
    node.allocated = sum;
    node.share = dominant_share(sum, total);
    node.saturated = saturated;
  }

  std::vector<Node> nodes_;
};

}  // namespace hekla::scheduler
