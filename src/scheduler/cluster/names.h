// Strings become numbers at the border, so that filters compare integers. Names are never dropped:
// a cluster's vocabulary of labels, taints, images and roles is small and returns.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <string>
#include <string_view>

#include "scheduler/cluster/ids.h"

namespace hekla::scheduler {

class Names {
 public:
  NameId intern(std::string_view text) {
    if (auto found = ids_.find(text); found != ids_.end()) return found->second;
    texts_.emplace_back(text);
    NameId id(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);  // a deque never moves its elements
    return id;
  }
  // Invalid when the text has never been interned.
  NameId find(std::string_view text) const {
    auto found = ids_.find(text);
    return found == ids_.end() ? NameId() : found->second;
  }
  const std::string& text(NameId id) const { return texts_[id.index()]; }

 private:
  std::deque<std::string> texts_;
  boost::unordered_flat_map<std::string_view, NameId> ids_;
};

}  // namespace hekla::scheduler
