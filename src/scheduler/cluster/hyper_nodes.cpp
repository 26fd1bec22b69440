#include "scheduler/cluster/hyper_nodes.h"

#include <algorithm>

#include "cel/pattern.h"
#include "model/selector.h"

namespace hekla::scheduler {

namespace {

// A pattern that cannot be read matches nothing; admission refuses it.
std::shared_ptr<const cel::Pattern> compiled_pattern(std::string_view text) {
  return cel::Pattern::compile(text).value_or(nullptr);
}

template <class Test>
void add_matching(std::span<const Node> nodes, std::vector<NodeId>& to, Test test) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].live && test(nodes[i])) to.push_back(NodeId(i));
}

void add_nodes(const json::Value& selector, std::span<const Node> nodes,
               const HyperNodes::FindNode& find_node, const Names& names, std::vector<NodeId>& to) {
  if (std::string_view exact = json::string_at(selector, {"exactMatch", "name"}); !exact.empty())
    if (NodeId node = find_node(exact); node.valid() && nodes[node.index()].live)
      to.push_back(node);
  if (std::string_view text = json::string_at(selector, {"regexMatch", "pattern"}); !text.empty())
    if (auto pattern = compiled_pattern(text))
      add_matching(nodes, to, [&](const Node& node) { return pattern->matches(node.name); });
  const json::Value* by_label = json::find(selector, "labelMatch");
  if (by_label == nullptr) return;
  Result<model::Selector> labels = model::Selector::from_label_selector(*by_label);
  if (!labels || labels->empty()) return;
  add_matching(nodes, to, [&](const Node& node) {
    return labels->matches([&](std::string_view key) -> const std::string* {
      NameId name = names.find(key);
      NameId value = name.valid() ? node.shape.label(name) : NameId();
      return value.valid() ? &names.text(value) : nullptr;
    });
  });
}

}  // namespace

void HyperNodes::lay_out(const Companions& companions, std::span<const Node> nodes,
                         const FindNode& find_node, const Names& names) {
  all_.clear();
  problem_.clear();
  const Companions::Objects& objects = companions.all(CompanionKind::hyper_node);
  for (const auto& [name, object] : objects) {
    HyperNode made;
    made.name = name;
    made.tier = static_cast<std::int32_t>(json::int_at(object->body, {"spec", "tier"}));
    made.tier_name = std::string(json::string_at(object->body, {"spec", "tierName"}));
    all_.push_back(std::move(made));
  }
  named_ = all_.size();
  lowest_.clear();
  std::size_t next = 0;
  for (const auto& [name, object] : objects)
    add_members(*object, HyperNodeId(next++), nodes, find_node, names);
  find_cycle();
  add_top(nodes);
  if (problem_.empty()) gather();
}

void HyperNodes::add_members(const Companion& object, HyperNodeId id, std::span<const Node> nodes,
                             const FindNode& find_node, const Names& names) {
  const json::Array* members = json::array_at(object.body, {"spec", "members"});
  for (std::size_t i = 0; members != nullptr && i < members->size(); ++i) {
    const json::Value* selector = json::find((*members)[i], "selector");
    if (selector == nullptr) continue;
    if (json::string_at((*members)[i], {"type"}) == "HyperNode") {
      adopt(id, json::string_at(*selector, {"exactMatch", "name"}));
      adopt_matching(id, json::string_at(*selector, {"regexMatch", "pattern"}));
    } else {
      add_nodes(*selector, nodes, find_node, names, all_[id.index()].nodes);
    }
  }
}

void HyperNodes::adopt(HyperNodeId parent, std::string_view name) {
  HyperNodeId child = find(name);
  if (!child.valid()) return;  // not there yet
  HyperNode& adopted = all_[child.index()];
  if (adopted.parent == parent) return;
  if (adopted.parent.valid()) {
    problem_ = "HyperNode " + adopted.name + " already has a parent " + at(adopted.parent).name +
               ", and cannot set another parent " + at(parent).name;
    return;
  }
  adopted.parent = parent;
  all_[parent.index()].children.push_back(child);
}

void HyperNodes::adopt_matching(HyperNodeId parent, std::string_view text) {
  if (text.empty()) return;
  auto pattern = compiled_pattern(text);
  for (std::size_t i = 0; pattern && i < named_; ++i)
    if (HyperNodeId(i) != parent && pattern->matches(all_[i].name)) adopt(parent, all_[i].name);
}

void HyperNodes::find_cycle() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    std::size_t steps = 0;
    for (HyperNodeId up = all_[i].parent; up.valid() && problem_.empty(); up = at(up).parent)
      if (++steps > all_.size())
        problem_ = "cyclic dependency detected: HyperNode " + all_[i].name +
                   " is already in the ancestor chain";
  }
}

void HyperNodes::add_top(std::span<const Node> nodes) {
  HyperNode top;
  top.name = kTop;
  top.tier = 1;
  for (const HyperNode& one : all_) top.tier = std::max(top.tier, one.tier + 1);
  lowest_tier_ = top.tier;
  for (const HyperNode& one : all_) lowest_tier_ = std::min(lowest_tier_, one.tier);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].parent.valid()) continue;
    all_[i].parent = HyperNodeId(all_.size());
    top.children.push_back(HyperNodeId(i));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].live) top.nodes.push_back(NodeId(i));
  all_.push_back(std::move(top));
}

// Every node counts for all that stand above its own hypernode; children come before parents.
void HyperNodes::gather() {
  std::vector<HyperNodeId> order{top()};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (HyperNodeId child : at(order[i]).children) order.push_back(child);
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    HyperNode& here = all_[id->index()];
    std::sort(here.nodes.begin(), here.nodes.end());
    here.nodes.erase(std::unique(here.nodes.begin(), here.nodes.end()), here.nodes.end());
    if (*id == top()) break;
    for (NodeId node : here.nodes) {
      if (node.index() >= lowest_.size()) lowest_.resize(node.index() + 1);
      HyperNodeId& known = lowest_[node.index()];
      if (!known.valid() || at(known).tier > here.tier) known = *id;
    }
    if (here.parent == top()) continue;
    std::vector<NodeId>& above = all_[here.parent.index()].nodes;
    above.insert(above.end(), here.nodes.begin(), here.nodes.end());
  }
}

HyperNodeId HyperNodes::find(std::string_view name) const {
  if (name == kTop && all_.size() > named_) return top();
  auto end = all_.begin() + static_cast<std::ptrdiff_t>(named_);
  auto found =
      std::lower_bound(all_.begin(), end, name,
                       [](const HyperNode& one, std::string_view n) { return one.name < n; });
  if (found == end || found->name != name) return {};
  return HyperNodeId(static_cast<std::size_t>(found - all_.begin()));
}

bool HyperNodes::contains(HyperNodeId outer, HyperNodeId inner) const {
  for (HyperNodeId up = inner; up.valid(); up = at(up).parent)
    if (up == outer) return true;
  return false;
}

HyperNodeId HyperNodes::common(HyperNodeId a, HyperNodeId b) const {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  for (HyperNodeId up = a; up.valid(); up = at(up).parent)
    if (contains(up, b)) return up;
  return {};
}

std::int32_t HyperNodes::tier_of(std::string_view tier_name) const {
  for (const HyperNode& one : all_)
    if (one.tier_name == tier_name) return one.tier;
  return -1;
}

}  // namespace hekla::scheduler
