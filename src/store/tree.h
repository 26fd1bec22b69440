// A persistent ordered map from key to Item: a B+tree whose nodes are shared between versions.
// Copying a Tree copies one pointer; an edit copies the path to the leaf and leaves every other
// copy as it was. Edits made under the same stamp change the nodes they already copied in place, so
// that a commit group pays for each node once.
//
// Threads: const members may run anywhere, at the same time. Edits need a Tree of one's own and a
// stamp that no other Tree was edited under.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "store/item.h"

namespace hekla::store {

// Names a round of edits; after the Tree was copied for somebody else, the next round takes a new
// one.
using Stamp = std::uint64_t;

class Tree {
 public:
  ItemPtr get(std::string_view key) const;
  // In byte order from the first key >= `from`, until `visit` returns false.
  void scan(std::string_view from, const std::function<bool(const ItemPtr&)>& visit) const;
  std::size_t size() const { return size_; }

  // Inserts or replaces the item of this key; returns the one replaced, or null. `stamp` > 0.
  ItemPtr put(ItemPtr item, Stamp stamp);
  // Returns the removed item, or null when there was none.
  ItemPtr erase(std::string_view key, Stamp stamp);

  struct Node;  // tree.cpp

 private:
  std::shared_ptr<Node> root_;
  std::size_t size_ = 0;
};

// Everything as of one revision. Published as const; the committer edits a copy.
struct Snapshot::Version {
  Revision revision = 0;
  std::vector<Tree> buckets;     // by BucketId; buckets made later are not in here
  std::uint64_t live_bytes = 0;  // what the keys and values would take in a snapshot file

  const Tree* tree(BucketId bucket) const {
    return bucket < buckets.size() ? &buckets[bucket] : nullptr;
  }
};

}  // namespace hekla::store
