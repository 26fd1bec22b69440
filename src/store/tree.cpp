#include "store/tree.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>

#include "base/check.h"

namespace hekla::store {
namespace {

// Copying a node is one allocation and one reference count per entry. 32 keeps both the copied path
// and the depth short: four levels hold a million keys.
constexpr std::size_t kFanout = 32;
constexpr std::size_t kMergeBelow = kFanout / 4;

using NodePtr = std::shared_ptr<Tree::Node>;

// Shared, so that copying an inner node does not copy key bytes. A separator may outlive its item.
using KeyPtr = std::shared_ptr<const std::string>;

struct Child {
  KeyPtr low;  // no key below this is in `node`; not read for a node's first child
  NodePtr node;
};

}  // namespace

struct Tree::Node {
  Stamp stamp;
  bool is_leaf;
};

namespace {

struct Leaf : Tree::Node {
  boost::container::static_vector<ItemPtr, kFanout> items;
};

struct Inner : Tree::Node {
  boost::container::static_vector<Child, kFanout> children;
};

Leaf& leaf_of(Tree::Node& node) { return static_cast<Leaf&>(node); }
const Leaf& leaf_of(const Tree::Node& node) { return static_cast<const Leaf&>(node); }
Inner& inner_of(Tree::Node& node) { return static_cast<Inner&>(node); }
const Inner& inner_of(const Tree::Node& node) { return static_cast<const Inner&>(node); }

std::shared_ptr<Leaf> make_leaf(Stamp stamp) {
  auto leaf = std::make_shared<Leaf>();
  leaf->stamp = stamp;
  leaf->is_leaf = true;
  return leaf;
}

std::shared_ptr<Inner> make_inner(Stamp stamp) {
  auto inner = std::make_shared<Inner>();
  inner->stamp = stamp;
  inner->is_leaf = false;
  return inner;
}

std::size_t entries(const Tree::Node& node) {
  return node.is_leaf ? leaf_of(node).items.size() : inner_of(node).children.size();
}

// Makes `slot` a node that this round may change.
Tree::Node& own(NodePtr& slot, Stamp stamp) {
  if (slot->stamp != stamp) {
    if (slot->is_leaf)
      slot = std::make_shared<Leaf>(leaf_of(*slot));
    else
      slot = std::make_shared<Inner>(inner_of(*slot));
    slot->stamp = stamp;
  }
  return *slot;
}

std::size_t position_in(const Leaf& leaf, std::string_view key) {
  auto at = std::partition_point(leaf.items.begin(), leaf.items.end(),
                                 [&](const ItemPtr& item) { return item->key < key; });
  return static_cast<std::size_t>(at - leaf.items.begin());
}

std::size_t child_for(const Inner& inner, std::string_view key) {
  auto at = std::partition_point(inner.children.begin() + 1, inner.children.end(),
                                 [&](const Child& child) { return *child.low <= key; });
  return static_cast<std::size_t>(at - inner.children.begin()) - 1;
}

struct Insertion {
  ItemPtr item;
  Stamp stamp;
  ItemPtr replaced;
};

// Half of a full node goes right; at the right edge of the tree only the new entry does, so that
// keys loaded in order leave full nodes behind.
std::size_t split_point(std::size_t position, bool right_edge) {
  return right_edge && position == kFanout ? kFanout : kFanout / 2;
}

// The right half of a node that was full, or nothing.
Child insert_into_leaf(Leaf& leaf, Insertion& insertion, bool right_edge) {
  std::size_t position = position_in(leaf, insertion.item->key);
  if (position < leaf.items.size() && leaf.items[position]->key == insertion.item->key) {
    insertion.replaced = std::exchange(leaf.items[position], std::move(insertion.item));
    return {};
  }
  if (leaf.items.size() < kFanout) {
    leaf.items.insert(leaf.items.begin() + position, std::move(insertion.item));
    return {};
  }
  auto right = make_leaf(insertion.stamp);
  std::size_t split = split_point(position, right_edge);
  right->items.assign(std::make_move_iterator(leaf.items.begin() + split),
                      std::make_move_iterator(leaf.items.end()));
  leaf.items.resize(split);
  if (position > split || split == kFanout)
    right->items.insert(right->items.begin() + (position - split), std::move(insertion.item));
  else
    leaf.items.insert(leaf.items.begin() + position, std::move(insertion.item));
  CHECK(leaf.items.back()->key < right->items.front()->key, "a split keeps the order");
  auto low = std::make_shared<const std::string>(right->items.front()->key);
  return {std::move(low), std::move(right)};
}

Child insert_child(Inner& inner, std::size_t position, Child child, Stamp stamp, bool right_edge) {
  if (inner.children.size() < kFanout) {
    inner.children.insert(inner.children.begin() + position, std::move(child));
    return {};
  }
  auto right = make_inner(stamp);
  std::size_t split = split_point(position, right_edge);
  right->children.assign(std::make_move_iterator(inner.children.begin() + split),
                         std::make_move_iterator(inner.children.end()));
  inner.children.resize(split);
  if (position > split || split == kFanout)
    right->children.insert(right->children.begin() + (position - split), std::move(child));
  else
    inner.children.insert(inner.children.begin() + position, std::move(child));
  return {right->children.front().low, right};
}

Child insert(NodePtr& slot, Insertion& insertion, bool right_edge) {
  Tree::Node& node = own(slot, insertion.stamp);
  if (node.is_leaf) return insert_into_leaf(leaf_of(node), insertion, right_edge);
  Inner& inner = inner_of(node);
  std::size_t position = child_for(inner, insertion.item->key);
  bool child_at_edge = right_edge && position + 1 == inner.children.size();
  Child split = insert(inner.children[position].node, insertion, child_at_edge);
  if (!split.node) return {};
  return insert_child(inner, position + 1, std::move(split), insertion.stamp, right_edge);
}

// Moves everything of children[left + 1] into children[left].
void merge(Inner& inner, std::size_t left, Stamp stamp) {
  Child& right = inner.children[left + 1];
  Tree::Node& target = own(inner.children[left].node, stamp);
  CHECK(entries(target) + entries(*right.node) <= kFanout && target.is_leaf == right.node->is_leaf,
        "neighbours of one level that fit into one node");
  if (target.is_leaf) {
    const auto& from = leaf_of(*right.node).items;
    auto& to = leaf_of(target).items;
    to.insert(to.end(), from.begin(), from.end());
  } else {
    const auto& from = inner_of(*right.node).children;
    auto& to = inner_of(target).children;
    std::size_t first = to.size();
    to.insert(to.end(), from.begin(), from.end());
    to[first].low = right.low;  // it was a first child: its own bound was never kept
  }
  inner.children.erase(inner.children.begin() + left + 1);
}

void tidy_child(Inner& inner, std::size_t position, Stamp stamp) {
  std::size_t n = entries(*inner.children[position].node);
  if (n == 0) {
    inner.children.erase(inner.children.begin() + position);
    return;
  }
  if (n >= kMergeBelow) return;
  auto fits = [&](std::size_t other) {
    return other < inner.children.size() && n + entries(*inner.children[other].node) <= kFanout;
  };
  if (position > 0 && fits(position - 1))
    merge(inner, position - 1, stamp);
  else if (fits(position + 1))
    merge(inner, position, stamp);
}

ItemPtr erase_existing(NodePtr& slot, std::string_view key, Stamp stamp) {
  Tree::Node& node = own(slot, stamp);
  if (node.is_leaf) {
    auto& items = leaf_of(node).items;
    auto at = items.begin() + position_in(leaf_of(node), key);
    CHECK(at != items.end() && (*at)->key == key, "the key was found a moment ago");
    ItemPtr item = std::move(*at);
    items.erase(at);
    return item;
  }
  Inner& inner = inner_of(node);
  std::size_t position = child_for(inner, key);
  ItemPtr item = erase_existing(inner.children[position].node, key, stamp);
  tidy_child(inner, position, stamp);
  return item;
}

using Visit = std::function<bool(const ItemPtr&)>;

// `bounded`: keys below `from` may be in here.
bool scan_node(const Tree::Node& node, std::string_view from, bool bounded, const Visit& visit) {
  if (node.is_leaf) {
    const Leaf& leaf = leaf_of(node);
    for (std::size_t i = bounded ? position_in(leaf, from) : 0; i < leaf.items.size(); ++i)
      if (!visit(leaf.items[i])) return false;
    return true;
  }
  const Inner& inner = inner_of(node);
  std::size_t first = bounded ? child_for(inner, from) : 0;
  for (std::size_t i = first; i < inner.children.size(); ++i)
    if (!scan_node(*inner.children[i].node, from, bounded && i == first, visit)) return false;
  return true;
}

}  // namespace

ItemPtr Tree::get(std::string_view key) const {
  if (!root_) return nullptr;
  const Node* node = root_.get();
  while (!node->is_leaf) {
    const Inner& inner = inner_of(*node);
    node = inner.children[child_for(inner, key)].node.get();
  }
  const Leaf& leaf = leaf_of(*node);
  std::size_t position = position_in(leaf, key);
  if (position == leaf.items.size() || leaf.items[position]->key != key) return nullptr;
  return leaf.items[position];
}

void Tree::scan(std::string_view from, const Visit& visit) const {
  if (root_) scan_node(*root_, from, !from.empty(), visit);
}

ItemPtr Tree::put(ItemPtr item, Stamp stamp) {
  CHECK(item && stamp > 0);
  if (!root_) root_ = make_leaf(stamp);
  Insertion insertion{std::move(item), stamp, nullptr};
  Child split = insert(root_, insertion, true);
  if (split.node) {
    auto root = make_inner(stamp);
    root->children.push_back({nullptr, std::move(root_)});
    root->children.push_back(std::move(split));
    root_ = std::move(root);
  }
  if (!insertion.replaced) ++size_;
  return std::move(insertion.replaced);
}

ItemPtr Tree::erase(std::string_view key, Stamp stamp) {
  CHECK(stamp > 0);
  if (!get(key)) return nullptr;
  ItemPtr item = erase_existing(root_, key, stamp);
  CHECK(size_ > 0, "size counts every item");
  --size_;
  while (root_ && !root_->is_leaf && entries(*root_) == 1) {
    NodePtr child = inner_of(*root_).children.front().node;
    root_ = std::move(child);
  }
  if (entries(*root_) == 0) root_ = nullptr;
  return item;
}

}  // namespace hekla::store
