// Ids of the scheduler's dense arrays. Distinct types, so that a node is never looked up as a task.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace hekla::scheduler {

template <class Tag>
struct Id {
  std::uint32_t value = 0xffffffffu;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}
  constexpr bool valid() const { return value != 0xffffffffu; }
  constexpr std::size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;
using TaskId = Id<struct TaskTag>;
using JobId = Id<struct JobTag>;
using QueueId = Id<struct QueueTag>;
using ClassId = Id<struct ClassTag>;
// A group of nodes in the network topology, or of such groups.
using HyperNodeId = Id<struct HyperNodeTag>;
// A selector over pods with a topology key, and the labels of pods (pod_terms.h).
using TermId = Id<struct TermTag>;
using LabelSetId = Id<struct LabelSetTag>;
// A persistent volume claim.
using ClaimId = Id<struct ClaimTag>;
// An interned string: a label key or value, a taint, an image, a role.
using NameId = Id<struct NameTag>;

}  // namespace hekla::scheduler
