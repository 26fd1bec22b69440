#include "scheduler/cluster/pod_class.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "scheduler/cluster/names.h"

namespace hekla::scheduler {

namespace {

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool holds(const NodeRequirement& requirement, NameId value, const Names& names) {
  using Op = model::Selector::Op;
  if (requirement.unreadable) return false;
  auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case Op::in:
      return value.valid() && listed();
    case Op::not_in:
      return !value.valid() || !listed();
    case Op::exists:
      return value.valid();
    case Op::absent:
      return !value.valid();
    case Op::greater:
    case Op::less: {
      if (!value.valid()) return false;
      std::optional<std::int64_t> have = number(names.text(value));
      if (!have) return false;
      return requirement.op == Op::greater ? *have > requirement.bound : *have < requirement.bound;
    }
  }
  return false;
}

bool matches(const NodeTerm& term, const Node& node, const Names& names) {
  if (term.labels.empty() && term.fields.empty()) return false;
  for (const NodeRequirement& requirement : term.labels)
    if (!holds(requirement, node.shape.label(requirement.key), names)) return false;
  for (const NodeRequirement& requirement : term.fields)
    if (!holds(requirement, node.name_id, names)) return false;
  return true;
}

bool matches_node(const PodClass& pods, const Node& node, const Names& names) {
  for (const auto& [key, value] : pods.node_selector)
    if (node.shape.label(key) != value) return false;
  if (!pods.has_required_terms) return true;
  return std::any_of(pods.required_terms.begin(), pods.required_terms.end(),
                     [&](const NodeTerm& term) { return matches(term, node, names); });
}

}  // namespace hekla::scheduler
