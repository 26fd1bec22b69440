#include "scheduler/cluster/dynamic_resources.h"

#include <algorithm>

namespace hekla::scheduler {

namespace {

constexpr std::size_t kMostUsers = 256;         // of one claim
constexpr std::size_t kMostSelectors = 10'000;  // kept; beyond, those in use are read again

bool any_matches(const std::vector<NodeTerm>& terms, const Node& node, const Names& names) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeTerm& term) { return matches(term, node, names); });
}

}  // namespace

// ---- reading

void DynamicResources::catch_up(const Companions& companions, Names& names) {
  auto keys_of = [](const auto& index) {
    return [&index](auto visit) {
      for (const auto& [key, value] : index) visit(key);
    };
  };
  if (selectors_.size() > kMostSelectors) forget_selectors();
  bool sliced = false;
  companions.catch_up(CompanionKind::resource_slice, seen_slices_, keys_of(devices_.slices()),
                      [&](const std::string& key, const Companion* object) {
                        sliced = true;
                        devices_.put(key, object == nullptr
                                              ? nullptr
                                              : std::make_unique<DeviceSlice>(
                                                    read_device_slice(object->body, names)));
                      });
  if (sliced) devices_.index();
  companions.catch_up(CompanionKind::device_class, seen_classes_, keys_of(classes_),
                      [&](const std::string& key, const Companion* object) {
                        classes_.erase(key);
                        if (object != nullptr)
                          classes_[key] = read_device_class(object->body, selectors_);
                      });
  companions.catch_up(
      CompanionKind::resource_claim, seen_claims_, keys_of(claims_),
      [&](const std::string& key, const Companion* object) { digest_claim(key, object, names); });
}

// Whoever writes ever new expressions must not fill the memory: what still stands somewhere is read
// again.
void DynamicResources::forget_selectors() {
  selectors_ = DeviceSelectors();
  for (const auto& [key, claim] : claims_) count(claim.devices, -1);
  claims_.clear();
  classes_.clear();
  devices_ = Devices();
  seen_claims_ = seen_slices_ = seen_classes_ = 0;
}

void DynamicResources::digest_claim(const std::string& key, const Companion* object, Names& names) {
  if (auto known = claims_.find(key); known != claims_.end()) {
    count(known->second.devices, -1);
    claims_.erase(known);
  }
  bool ends = object == nullptr;
  if (object != nullptr) {
    ClaimSpec& claim = claims_[key] = read_claim(key, object->body, selectors_, names);
    count(claim.devices, 1);
    ends = claim.allocated;
  }
  if (auto promise = promises_.find(key); ends && promise != promises_.end()) {
    count(promise->second.devices, -1);
    promises_.erase(promise);
  }
}

void DynamicResources::count(const std::vector<AllocatedDevice>& devices, int by) {
  for (const AllocatedDevice& device : devices)
    if (!device.admin && (taken_[device.key] += by) == 0) taken_.erase(device.key);
}

// ---- questions

std::string DynamicResources::objection(const ClaimSpec& claim) const {
  if (claim.allocated) return {};
  auto beyond = [&](const std::string& what) {
    return "resourceclaim \"" + claim.name.substr(claim.name.find('/') + 1) + "\" asks for " +
           what + ", which this scheduler does not support";
  };
  if (!claim.refused.empty()) return beyond(claim.refused);
  for (const DeviceRequestSpec& request : claim.requests)
    for (const DeviceWish& wish : request.alternatives) {
      auto kind = classes_.find(wish.class_name);
      if (kind == classes_.end())
        return "request " + request.name + ": device class " + wish.class_name + " does not exist";
      for (std::size_t i = 0; i < kind->second.selectors.size(); ++i)
        if (const std::string& error = selectors_.error(kind->second.selectors[i]); !error.empty())
          return "class " + wish.class_name + ": selector #" + std::to_string(i) + ": " + error;
      for (std::size_t i = 0; i < wish.selectors.size(); ++i)
        if (const std::string& error = selectors_.error(wish.selectors[i]); !error.empty())
          return "claim " + claim.name + ": selector #" + std::to_string(i) + ": " + error;
      if (!wish.refused.empty()) return beyond(wish.refused);
    }
  return {};
}

std::string DynamicResources::blocked(const Task& task) const {
  for (const DeviceClaim& use : task.device_claims) {
    if (use.object.empty())
      return "pod \"" + task.ns + "/" + task.name + "\": ResourceClaim not created yet";
    const std::string key = task.ns + "/" + use.object;
    auto claim = claims_.find(key);
    if (claim == claims_.end())
      return "resourceclaim.resource.k8s.io \"" + use.object + "\" not found";
    if (std::string objects = objection(claim->second); !objects.empty()) return objects;
    auto promise = promises_.find(key);
    std::size_t users = claim->second.reserved.size() +
                        (promise == promises_.end() ? 0 : promise->second.users.size());
    if (users >= kMostUsers && !claim->second.reserved.contains(task.uid))
      return "resourceclaim in use";
  }
  return {};
}

bool DynamicResources::usable_at(const Promise& promise, const Node& node, const Names& names) {
  if (promise.pinned) return promise.node == node.name;
  return std::all_of(promise.terms.begin(), promise.terms.end(),
                     [&](const NodeTerm& term) { return matches(term, node, names); });
}

std::optional<std::vector<ClaimDevices>> DynamicResources::choose(const Task& task,
                                                                  const Node& node,
                                                                  const Names& names,
                                                                  std::string& why) const {
  std::vector<ClaimDevices> chosen;
  std::vector<const ClaimSpec*> open;
  for (const DeviceClaim& use : task.device_claims) {
    const ClaimSpec& claim = claims_.at(task.ns + "/" + use.object);
    auto promise = promises_.find(claim.name);
    if (promise != promises_.end() ? !usable_at(promise->second, node, names)
                                   : claim.has_terms && !any_matches(claim.terms, node, names)) {
      why = "resourceclaim not available on the node";
      return std::nullopt;
    }
    if (promise != promises_.end())
      chosen.push_back({&claim, {}});
    else if (!claim.allocated && std::find(open.begin(), open.end(), &claim) == open.end())
      open.push_back(&claim);
  }
  if (open.empty()) return chosen;
  DeviceSearch search({selectors_, classes_, taken_, node, names}, devices_.at(node, names));
  auto found = search.run(open, why);
  if (!found) return std::nullopt;
  for (std::size_t i = 0; i < open.size(); ++i) chosen.push_back({open[i], std::move((*found)[i])});
  return chosen;
}

// ---- promises

void DynamicResources::assume(const std::string& pod_uid, const Node& node,
                              const std::vector<ClaimDevices>& chosen) {
  for (const ClaimDevices& one : chosen) {
    if (one.devices.empty() && !promises_.contains(one.claim->name)) continue;
    Promise& promise = promises_[one.claim->name];
    promise.users.insert(pod_uid);
    if (one.devices.empty()) continue;
    promise.node = node.name;
    for (const ChosenDevice& device : one.devices) {
      const DeviceReach& reach = device.slice->reach_of(*device.device);
      promise.pinned |= !reach.node.empty();
      if (reach.has_terms)
        promise.terms.insert(promise.terms.end(), reach.terms.begin(), reach.terms.end());
      promise.devices.push_back({device.device->key, device.wish->name, device.wish->admin});
    }
    promise.allocation = allocation_json(one, node, classes_);
    count(promise.devices, 1);
  }
}

void DynamicResources::release(const std::string& pod_uid) {
  for (auto promise = promises_.begin(); promise != promises_.end();) {
    if (promise->second.users.erase(pod_uid) == 0 || !promise->second.users.empty()) {
      ++promise;
      continue;
    }
    count(promise->second.devices, -1);
    promise = promises_.erase(promise);
  }
}

json::Value DynamicResources::allocation_of(const std::string& name) const {
  auto promise = promises_.find(name);
  return promise == promises_.end() ? json::Value(nullptr) : promise->second.allocation;
}

json::Value DynamicResources::reserved_for(const std::string& name, const Task& task) const {
  auto claim = claims_.find(name);
  if (claim != claims_.end() && claim->second.reserved.contains(task.uid)) return json::Array();
  return json::Array{json::Object{{"resource", "pods"}, {"name", task.name}, {"uid", task.uid}}};
}

// ---- what is written

namespace {

// Where what was chosen can be used; null: everywhere.
json::Value node_selector(const std::vector<ChosenDevice>& devices, const Node& node) {
  json::Array fields, labels;
  auto add = [](const json::Value& term, std::string_view member, json::Array& to) {
    if (const json::Array* from = json::array_at(term, {member}))
      for (const json::Value& one : *from)
        if (std::none_of(to.begin(), to.end(),
                         [&](const json::Value& known) { return json::equal(known, one); }))
          to.push_back(one);
  };
  for (const ChosenDevice& one : devices) {
    const DeviceReach& reach = one.slice->reach_of(*one.device);
    if (!reach.node.empty()) {
      json::Object field{{"key", "metadata.name"},
                         {"operator", "In"},
                         {"values", json::Array{json::Value(node.name)}}};
      json::Object term{{"matchFields", json::Array{std::move(field)}}};
      return json::Object{{"nodeSelectorTerms", json::Array{std::move(term)}}};
    }
    if (const json::Array* terms = json::array_at(reach.selector, {"nodeSelectorTerms"});
        terms && !terms->empty()) {
      add((*terms)[0], "matchFields", fields);  // there is one at most
      add((*terms)[0], "matchExpressions", labels);
    }
  }
  if (fields.empty() && labels.empty()) return nullptr;
  json::Object term;
  if (!fields.empty()) term["matchFields"] = std::move(fields);
  if (!labels.empty()) term["matchExpressions"] = std::move(labels);
  return json::Object{{"nodeSelectorTerms", json::Array{std::move(term)}}};
}

json::Object configuration(const json::Value& from, std::string_view source,
                           const std::vector<std::string>& requests) {
  json::Object out{{"source", source}};
  json::Array names;
  for (const std::string& one : requests) names.push_back(json::Value(one));
  if (!names.empty()) out["requests"] = std::move(names);
  if (const json::Value* opaque = json::find(from, "opaque")) out["opaque"] = *opaque;
  return out;
}

// Parameters for the drivers: of each class once, then of the claim. No names means all requests.
json::Array configurations(const ClaimDevices& chosen,
                           const std::map<std::string, DeviceClassSpec>& classes) {
  json::Array out;
  std::vector<const DeviceWish*> granted;  // in the order of requests
  for (const ChosenDevice& one : chosen.devices)
    if (granted.empty() || granted.back() != one.wish) granted.push_back(one.wish);
  const std::size_t all = chosen.claim->requests.size();
  std::set<std::string> done;
  for (const DeviceWish* wish : granted) {
    auto kind = classes.find(wish->class_name);
    if (kind == classes.end() || !done.insert(wish->class_name).second) continue;
    std::vector<std::string> requests;
    for (const DeviceWish* other : granted)
      if (other->class_name == wish->class_name) requests.push_back(other->name);
    if (requests.size() == all) requests.clear();
    for (const json::Value& config : kind->second.config)
      out.push_back(configuration(config, "FromClass", requests));
  }
  for (const json::Value& config : chosen.claim->config) {
    std::vector<std::string> requests;
    if (const json::Array* names = json::array_at(config, {"requests"}))
      for (const json::Value& one : *names)
        if (one.is_string()) requests.emplace_back(json::sv(one.get_string()));
    const bool concerns =
        requests.empty() ||
        std::any_of(granted.begin(), granted.end(), [&](const DeviceWish* wish) {
          return std::any_of(requests.begin(), requests.end(), [&](const std::string& name) {
            return name == wish->name || name == wish->name.substr(0, wish->name.find('/'));
          });
        });
    if (requests.size() == all) requests.clear();
    if (concerns) out.push_back(configuration(config, "FromClaim", requests));
  }
  return out;
}

}  // namespace

json::Value DynamicResources::allocation_json(
    const ClaimDevices& chosen, const Node& node,
    const std::map<std::string, DeviceClassSpec>& classes) {
  json::Array results;
  for (const ChosenDevice& one : chosen.devices) {
    json::Object result{{"request", one.wish->name},
                        {"driver", one.slice->driver},
                        {"pool", one.slice->pool_name},
                        {"device", one.device->name}};
    if (one.wish->admin) result["adminAccess"] = true;
    if (!one.wish->tolerations.empty()) result["tolerations"] = one.wish->tolerations;
    results.push_back(std::move(result));
  }
  json::Object devices{{"results", std::move(results)}};
  if (json::Array config = configurations(chosen, classes); !config.empty())
    devices["config"] = std::move(config);
  json::Object out{{"devices", std::move(devices)}};
  if (json::Value selector = node_selector(chosen.devices, node); !selector.is_null())
    out["nodeSelector"] = std::move(selector);
  return out;
}

}  // namespace hekla::scheduler
