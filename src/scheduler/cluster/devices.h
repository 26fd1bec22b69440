// The devices of the cluster as ResourceSlices say them, by pool: only the newest generation of a
// pool counts, and nothing is taken from one that is incomplete or contradicts itself.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/quantity.h"
#include "scheduler/cluster/device_selector.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/node_term.h"

namespace hekla::scheduler {

// Which nodes can use something.
struct DeviceReach {
  std::string node;
  bool everywhere = false;
  bool has_terms = false;
  std::vector<NodeTerm> terms;
  json::Value selector;  // as it was written

  bool reaches(const Node& candidate, const Names& names) const;
};

struct DeviceTaint {
  std::string key, value, effect;
};

// Of a counter that several devices share: "counter set/counter".
struct CounterUse {
  std::string counter;
  model::Quantity amount;
};

struct Device {
  std::string name;
  std::string key;                                // "driver/pool/name"
  std::map<std::string, std::string> attributes;  // "domain/name" to {type: value} as text
  SelectedDevice selected;
  std::vector<DeviceTaint> taints;  // those that keep claims away
  std::vector<CounterUse> counters;
  DeviceReach reach;  // if the slice leaves it to its devices
};

struct DevicePool;

struct DeviceSlice {
  std::string driver, pool_name;
  std::int64_t generation = 0, slices = 0;  // of the pool; 0 slices: not said
  DeviceReach reach;
  bool by_device = false;
  std::vector<Device> devices;
  std::vector<CounterUse> counters;
  const DevicePool* pool = nullptr;

  const DeviceReach& reach_of(const Device& device) const {
    return by_device ? device.reach : reach;
  }
};

struct DevicePool {
  std::string name;  // "driver/pool"
  std::vector<const DeviceSlice*> slices;
  std::map<std::string, model::Quantity> counters;
  std::string problem;  // why nothing is taken from it
};

DeviceSlice read_device_slice(const json::Value& body, Names& names);

class Devices {
 public:
  // Null: the slice is gone. index() must follow the last of several.
  void put(const std::string& key, std::unique_ptr<DeviceSlice> slice);
  void index();
  const std::map<std::string, std::unique_ptr<DeviceSlice>>& slices() const { return slices_; }
  // Those with a device that reaches the node, by key.
  std::vector<const DeviceSlice*> at(const Node& node, const Names& names) const;

 private:
  std::map<std::string, std::unique_ptr<DeviceSlice>> slices_;
  std::map<std::string, DevicePool> pools_;
  // By their place in slices_: what one node has, and what several might have.
  struct Ranked {
    std::size_t rank;
    const DeviceSlice* slice;
  };
  std::unordered_map<std::string, std::vector<Ranked>> local_;
  std::vector<Ranked> wide_;
};

}  // namespace hekla::scheduler
