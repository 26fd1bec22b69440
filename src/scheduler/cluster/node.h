// A node as filters and scores see it, with its running account.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/resources.h"

namespace hekla::scheduler {

enum class Effect : std::uint8_t { any, no_schedule, prefer_no_schedule, no_execute };

struct Taint {
  NameId key, value;
  Effect effect = Effect::no_schedule;
  bool operator==(const Taint&) const = default;
};

struct HostPort {
  NameId ip;  // invalid: every address
  NameId protocol;
  std::int32_t port = 0;
  bool operator==(const HostPort&) const = default;
  bool collides(const HostPort& other) const {
    return port == other.port && protocol == other.protocol &&
           (!ip.valid() || !other.ip.valid() || ip == other.ip);
  }
};

struct NodeImage {
  NameId name;
  std::int64_t size_bytes = 0;
  bool operator==(const NodeImage&) const = default;
};

// What a Node object says; nothing here changes during a session.
struct NodeShape {
  bool unschedulable = false;
  std::vector<std::pair<NameId, NameId>> labels;  // sorted by key
  std::vector<Taint> taints;
  std::vector<NodeImage> images;
  Resources allocatable, capacity;
  std::vector<std::pair<std::string, std::string>> annotations;  // those that plugins read
  bool operator==(const NodeShape&) const = default;

  // Empty when absent.
  std::string_view annotation(std::string_view name) const {
    for (const auto& [key, value] : annotations)
      if (key == name) return value;
    return {};
  }
  // Invalid when the label is absent.
  NameId label(NameId key) const {
    for (const auto& [k, v] : labels)
      if (k == key) return v;
    return {};
  }
};

// Idle = allocatable - every task that is not pipelined, and may be negative; releasing tasks still
// consume it. What a pod may wait for is future_idle().
struct Node {
  std::string name;
  NameId name_id;
  bool live = false;  // a Node object exists; otherwise only pods have named it
  NodeShape shape;
  Resources idle, used, releasing, pipelined;
  Resources reserved;  // kept free for somebody, within a session
  // What Kubernetes' own scores charge: containers that request nothing count 100m and 200MB.
  std::int64_t nonzero_cpu = 0, nonzero_memory = 0;
  std::int32_t pods = 0;  // attached tasks, pipelined ones included
  std::vector<HostPort> ports;
  std::vector<TaskId> tasks;

  Resources future_idle() const {
    Resources out = idle;
    out += releasing;
    out -= pipelined;
    out -= reserved;
    return out;
  }
};

// What the pods of a node that were evicted in this session had asked for.
struct Evicted {
  Resources request;
  std::int64_t nonzero_cpu = 0, nonzero_memory = 0;
};

}  // namespace hekla::scheduler
