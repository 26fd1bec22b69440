// Why a node cannot take a pod, as small numbers: a histogram over nodes is then an array of
// counts. Zero is "no reason": the node can.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hekla::scheduler {

using ReasonId = std::uint16_t;
inline constexpr ReasonId kFeasible = 0;

class Reasons {
 public:
  Reasons() : sets_(1), removable_(1, true) {}
  // `removable`: evicting pods from the node could make the reason go away, as with a port in use
  // but not with a label the node lacks.
  ReasonId intern(std::string_view text, bool removable = false) {
    return intern_set({std::string(text)}, removable);
  }
  // Both reasons stand for the same node.
  ReasonId join(ReasonId a, ReasonId b) {
    if (a == kFeasible) return b;
    if (b == kFeasible) return a;
    std::vector<std::string> both = sets_[a];
    both.insert(both.end(), sets_[b].begin(), sets_[b].end());
    return intern_set(std::move(both), removable_[a] && removable_[b]);
  }
  bool removable(ReasonId id) const { return removable_[id]; }
  const std::vector<std::string>& texts(ReasonId id) const { return sets_[id]; }
  std::size_t size() const { return sets_.size(); }

 private:
  static constexpr std::size_t kLimit = 0xffff;

  ReasonId intern_set(std::vector<std::string> texts, bool removable) {
    std::string key;
    for (const std::string& text : texts) key.append(text).push_back('\n');
    if (auto found = ids_.find(key); found != ids_.end()) return found->second;
    // Taints are the only open-ended part; a cluster with 65,000 of them gets the first reason
    // again.
    if (sets_.size() == kLimit) return 1;
    sets_.push_back(std::move(texts));
    removable_.push_back(removable);
    auto id = static_cast<ReasonId>(sets_.size() - 1);
    ids_.emplace(std::move(key), id);
    return id;
  }

  std::vector<std::vector<std::string>> sets_;
  std::vector<bool> removable_;
  boost::unordered_flat_map<std::string, ReasonId> ids_;
};

}  // namespace hekla::scheduler
