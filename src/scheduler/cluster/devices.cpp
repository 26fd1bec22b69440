#include "scheduler/cluster/devices.h"

#include <algorithm>
#include <set>

#include "scheduler/cluster/pod_neighbours.h"

namespace hekla::scheduler {

namespace {

const json::Value& part_of(const json::Value& of, std::string_view member) {
  const json::Value* inner = json::find(of, member);
  return inner == nullptr ? of : *inner;
}

DeviceReach read_reach(const json::Value& body, Names& names) {
  DeviceReach reach;
  reach.node = std::string(json::string_at(body, {"nodeName"}));
  reach.everywhere = json::bool_at(body, {"allNodes"});
  if (const json::Value* selector = json::find(body, "nodeSelector");
      selector && selector->is_object()) {
    reach.has_terms = true;
    reach.selector = *selector;
    if (const json::Array* terms = json::array_at(*selector, {"nodeSelectorTerms"}))
      for (const json::Value& term : *terms) reach.terms.push_back(make_node_term(term, names));
  }
  return reach;
}

// `holder`: of one counter set.
void read_counters(const json::Value& holder, std::string_view set, std::vector<CounterUse>& out) {
  const json::Object* counters = json::object_at(holder, {"counters"});
  if (counters == nullptr) return;
  for (const auto& member : *counters)
    if (Result<model::Quantity> amount =
            model::Quantity::from_json(part_of(member.value(), "value")))
      out.push_back({std::string(set) + "/" + std::string(member.key()), *amount});
}

Device read_device(const json::Value& outer, const DeviceSlice& slice, Names& names) {
  // In older versions of the API most of it stands one level further down.
  const json::Value& body = part_of(outer, "basic");
  Device device;
  device.name = std::string(json::string_at(outer, {"name"}));
  device.key = slice.driver + "/" + slice.pool_name + "/" + device.name;
  device.selected = selected_device(body, slice.driver);
  if (const json::Object* given = json::object_at(body, {"attributes"}))
    for (const auto& member : *given) {
      std::string name(member.key());
      if (name.find('/') == std::string::npos) name.insert(0, slice.driver + "/");
      device.attributes[std::move(name)] = json::serialize(member.value());
    }
  if (const json::Array* taints = json::array_at(body, {"taints"}))
    for (const json::Value& one : *taints) {
      DeviceTaint taint{std::string(json::string_at(one, {"key"})),
                        std::string(json::string_at(one, {"value"})),
                        std::string(json::string_at(one, {"effect"}))};
      if (taint.effect == "NoSchedule" || taint.effect == "NoExecute")
        device.taints.push_back(std::move(taint));
    }
  if (const json::Array* uses = json::array_at(body, {"consumesCounters"}))
    for (const json::Value& use : *uses)
      read_counters(use, json::string_at(use, {"counterSet"}), device.counters);
  if (slice.by_device) device.reach = read_reach(body, names);
  return device;
}

// Why a pool cannot be used.
std::string pool_problem(const DevicePool& pool) {
  const std::int64_t wanted = pool.slices.front()->slices;
  if (wanted > 0 && wanted != static_cast<std::int64_t>(pool.slices.size()))
    return "is currently being updated";
  std::set<std::string_view> names;
  for (const DeviceSlice* slice : pool.slices)
    for (const Device& device : slice->devices)
      if (!names.insert(device.name).second) return "is currently invalid";
  return {};
}

}  // namespace

bool DeviceReach::reaches(const Node& candidate, const Names& names) const {
  if (!node.empty()) return node == candidate.name;
  if (everywhere) return true;
  return has_terms && std::any_of(terms.begin(), terms.end(), [&](const NodeTerm& term) {
           return matches(term, candidate, names);
         });
}

DeviceSlice read_device_slice(const json::Value& body, Names& names) {
  DeviceSlice slice;
  const json::Value* spec = json::find(body, "spec");
  if (spec == nullptr) return slice;
  slice.driver = std::string(json::string_at(*spec, {"driver"}));
  slice.pool_name = std::string(json::string_at(*spec, {"pool", "name"}));
  slice.generation = json::int_at(*spec, {"pool", "generation"}, 0);
  slice.slices = json::int_at(*spec, {"pool", "resourceSliceCount"}, 0);
  slice.by_device = json::bool_at(*spec, {"perDeviceNodeSelection"});
  slice.reach = read_reach(*spec, names);
  if (const json::Array* sets = json::array_at(*spec, {"sharedCounters"}))
    for (const json::Value& set : *sets)
      read_counters(set, json::string_at(set, {"name"}), slice.counters);
  if (const json::Array* devices = json::array_at(*spec, {"devices"}))
    for (const json::Value& one : *devices) slice.devices.push_back(read_device(one, slice, names));
  return slice;
}

void Devices::put(const std::string& key, std::unique_ptr<DeviceSlice> slice) {
  if (slice == nullptr)
    slices_.erase(key);
  else
    slices_[key] = std::move(slice);
}

void Devices::index() {
  pools_.clear();
  local_.clear();
  wide_.clear();
  for (const auto& [key, slice] : slices_) {
    DevicePool& pool = pools_[slice->driver + "/" + slice->pool_name];
    slice->pool = nullptr;
    if (!pool.slices.empty() && pool.slices.front()->generation > slice->generation) continue;
    if (!pool.slices.empty() && pool.slices.front()->generation < slice->generation)
      pool.slices.clear();
    pool.slices.push_back(slice.get());
  }
  for (auto& [name, pool] : pools_) {
    pool.name = name;
    pool.problem = pool_problem(pool);
    for (const DeviceSlice* slice : pool.slices)
      for (const CounterUse& one : slice->counters) pool.counters[one.counter] = one.amount;
  }
  std::size_t rank = 0;
  for (const auto& [key, slice] : slices_) {
    ++rank;
    const DevicePool& pool = pools_.at(slice->driver + "/" + slice->pool_name);
    if (pool.slices.front()->generation != slice->generation) continue;  // outdated
    slice->pool = &pool;
    const bool wide = slice->by_device || slice->reach.node.empty();
    (wide ? wide_ : local_[slice->reach.node]).push_back({rank, slice.get()});
  }
}

std::vector<const DeviceSlice*> Devices::at(const Node& node, const Names& names) const {
  std::vector<Ranked> found;
  if (auto local = local_.find(node.name); local != local_.end()) found = local->second;
  for (const Ranked& one : wide_) {
    const std::vector<Device>& devices = one.slice->devices;
    bool reached =
        one.slice->by_device
            ? std::any_of(devices.begin(), devices.end(),
                          [&](const Device& device) { return device.reach.reaches(node, names); })
            : one.slice->reach.reaches(node, names);
    if (reached) found.push_back(one);
  }
  std::sort(found.begin(), found.end(),
            [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  std::vector<const DeviceSlice*> out;
  for (const Ranked& one : found) out.push_back(one.slice);
  return out;
}

}  // namespace hekla::scheduler
