#include "scheduler/cluster/dynamic_resources.h"

#include <algorithm>

#include "scheduler/cluster/pod_neighbours.h"

namespace hekla::scheduler {

namespace {

constexpr std::size_t kMostUsers = 256;  // of one claim

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// {string: x}, {int: 1}, {bool: true}, {version: 1.2} as the literal one compares it with.
std::string literal_of(const json::Value& value) {
  if (!value.is_object() || value.get_object().empty()) return {};
  const json::Value& inner = value.get_object().begin()->value();
  return json::serialize(inner);
}

const json::Value& part_of(const json::Value& of, std::string_view member) {
  const json::Value* inner = json::find(of, member);
  return inner == nullptr ? of : *inner;
}

void read_terms(const json::Value& body, std::initializer_list<std::string_view> path, Names& names,
                bool& has, std::vector<NodeTerm>& out) {
  const json::Array* terms = json::array_at(body, path);
  if (terms == nullptr) return;
  has = true;
  for (const json::Value& term : *terms) out.push_back(make_node_term(term, names));
}

bool any_matches(bool has, const std::vector<NodeTerm>& terms, const Node& node,
                 const Names& names) {
  return !has || std::any_of(terms.begin(), terms.end(), [&](const NodeTerm& term) {
           return matches(term, node, names);
         });
}

}  // namespace

// ---- reading

void DynamicResources::add_expression(std::string_view expression, Selector& out) {
  std::string_view rest = expression;
  while (!rest.empty()) {
    std::size_t end = rest.find("&&");
    std::string_view term = trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
    Equation equation;
    std::size_t equals = term.find("==");
    std::string_view left = trimmed(term.substr(0, equals));
    std::string_view right = equals == std::string_view::npos ? "true" : trimmed(term.substr(equals + 2));
    constexpr std::string_view kAttributes = "device.attributes[";
    bool literal = right == "true" || right == "false" ||
                   (right.size() > 1 && right.front() == '"' && right.back() == '"' &&
                    right.find('"', 1) == right.size() - 1) ||
                   (!right.empty() && right.find_first_not_of("0123456789") == std::string_view::npos);
    if (left == "device.driver" && literal) {
      out.equations.push_back({"", std::string(right)});
      continue;
    }
    std::size_t close = left.find("\"].");
    bool attribute = literal && left.starts_with(kAttributes) && close != std::string_view::npos &&
                     left.size() > kAttributes.size() && left[kAttributes.size()] == '"';
    std::string_view name = attribute ? left.substr(close + 3) : std::string_view();
    if (!attribute || name.find_first_of(".(<>!=| ") != std::string_view::npos) {
      out.unreadable = std::string(expression);
      return;
    }
    std::string_view domain = left.substr(kAttributes.size() + 1, close - kAttributes.size() - 1);
    out.equations.push_back({std::string(domain) + "/" + std::string(name), std::string(right)});
  }
}

DynamicResources::Selector DynamicResources::read_selector(const json::Array* selectors) {
  Selector out;
  for (std::size_t i = 0; selectors != nullptr && i < selectors->size(); ++i)
    add_expression(json::string_at((*selectors)[i], {"cel", "expression"}), out);
  return out;
}

DynamicResources::Wish DynamicResources::read_wish(const json::Value& from) {
  Wish wish;
  wish.name = std::string(json::string_at(from, {"name"}));
  wish.class_name = std::string(json::string_at(from, {"deviceClassName"}));
  wish.selector = read_selector(json::array_at(from, {"selectors"}));
  wish.all = json::string_at(from, {"allocationMode"}) == "All";
  wish.count = json::int_at(from, {"count"}, 1);
  if (json::bool_at(from, {"adminAccess"})) wish.refused = "adminAccess";
  if (json::find(from, "capacity") != nullptr) wish.refused = "capacity";
  return wish;
}

DynamicResources::Slice DynamicResources::read_slice(const json::Value& body, Names& names) {
  Slice slice;
  slice.driver = std::string(json::string_at(body, {"spec", "driver"}));
  slice.pool = std::string(json::string_at(body, {"spec", "pool", "name"}));
  slice.node = std::string(json::string_at(body, {"spec", "nodeName"}));
  slice.everywhere = json::bool_at(body, {"spec", "allNodes"});
  read_terms(body, {"spec", "nodeSelector", "nodeSelectorTerms"}, names, slice.has_terms,
             slice.terms);
  const json::Array* devices = json::array_at(body, {"spec", "devices"});
  for (std::size_t i = 0; devices != nullptr && i < devices->size(); ++i) {
    Device device;
    device.name = std::string(json::string_at((*devices)[i], {"name"}));
    // In older versions of the API one level further down.
    if (const json::Object* given =
            json::object_at(part_of((*devices)[i], "basic"), {"attributes"}))
      for (const auto& member : *given) {
        std::string name(member.key());
        if (name.find('/') == std::string::npos) name.insert(0, slice.driver + "/");
        device.attributes[std::move(name)] = literal_of(member.value());
      }
    slice.devices.push_back(std::move(device));
  }
  return slice;
}

DynamicResources::Claim DynamicResources::read_claim(const json::Value& body, Names& names) {
  Claim claim;
  const json::Array* requests = json::array_at(body, {"spec", "devices", "requests"});
  for (std::size_t i = 0; requests != nullptr && i < requests->size(); ++i) {
    const json::Value& one = (*requests)[i];
    Request request;
    request.name = std::string(json::string_at(one, {"name"}));
    if (const json::Array* alternatives = json::array_at(one, {"firstAvailable"}))
      for (const json::Value& each : *alternatives) {
        request.alternatives.push_back(read_wish(each));
        request.alternatives.back().name = request.name + "/" + request.alternatives.back().name;
      }
    else
      request.alternatives.push_back(read_wish(part_of(one, "exactly")));
    if (request.alternatives.size() == 1) request.alternatives.front().name = request.name;
    claim.requests.push_back(std::move(request));
  }
  const json::Array* constraints = json::array_at(body, {"spec", "devices", "constraints"});
  for (std::size_t i = 0; constraints != nullptr && i < constraints->size(); ++i) {
    const json::Array* of = json::array_at((*constraints)[i], {"requests"});
    claim.match_attribute = std::string(json::string_at((*constraints)[i], {"matchAttribute"}));
    if (i > 0 || (of != nullptr && !of->empty()) || claim.match_attribute.empty())
      claim.refused = "its constraints";
  }
  if (json::find_path(body, {"status", "allocation"}) != nullptr) {
    claim.allocated = true;
    const json::Array* results =
        json::array_at(body, {"status", "allocation", "devices", "results"});
    for (std::size_t i = 0; results != nullptr && i < results->size(); ++i)
      claim.devices.push_back({std::string(json::string_at((*results)[i], {"request"})),
                               std::string(json::string_at((*results)[i], {"driver"})),
                               std::string(json::string_at((*results)[i], {"pool"})),
                               std::string(json::string_at((*results)[i], {"device"}))});
    read_terms(body, {"status", "allocation", "nodeSelector", "nodeSelectorTerms"}, names,
               claim.has_terms, claim.terms);
  }
  if (const json::Array* users = json::array_at(body, {"status", "reservedFor"})) {
    claim.reserved_json = *users;
    for (const json::Value& user : *users) claim.reserved.emplace(json::string_at(user, {"uid"}));
  }
  return claim;
}

void DynamicResources::catch_up(const Companions& companions, Names& names) {
  auto keys_of = [](const auto& index) {
    return [&index](auto visit) {
      for (const auto& [key, value] : index) visit(key);
    };
  };
  bool sliced = false;
  companions.catch_up(CompanionKind::resource_slice, seen_slices_, keys_of(slices_),
                      [&](const std::string& key, const Companion* object) {
                        sliced = true;
                        slices_.erase(key);
                        if (object != nullptr) slices_[key] = read_slice(object->body, names);
                      });
  if (sliced) {
    local_slices_.clear();
    wide_slices_.clear();
    for (const auto& one : slices_) {
      const Slice& slice = one.second;
      bool wide = slice.everywhere || slice.has_terms;
      (wide ? wide_slices_ : local_slices_[slice.node]).push_back(&one);
    }
  }
  companions.catch_up(CompanionKind::device_class, seen_classes_, keys_of(classes_),
                      [&](const std::string& key, const Companion* object) {
                        classes_.erase(key);
                        if (object != nullptr)
                          classes_[key] = read_selector(
                              json::array_at(object->body, {"spec", "selectors"}));
                      });
  companions.catch_up(CompanionKind::resource_claim, seen_claims_, keys_of(claims_),
                      [&](const std::string& key, const Companion* object) {
                        taken_.reset();
                        claims_.erase(key);
                        if (object == nullptr) return;
                        Claim& claim = claims_[key] = read_claim(object->body, names);
                        if (claim.allocated) promises_.erase(key);
                      });
}

// ---- questions

std::string DynamicResources::objection(const Claim& claim, const std::string& name) const {
  auto beyond = [&](const std::string& what) {
    return "resourceclaim \"" + name + "\" asks for " + what +
           ", which this scheduler does not support";
  };
  if (claim.allocated) return {};
  if (!claim.refused.empty()) return beyond(claim.refused);
  for (const Request& request : claim.requests)
    for (const Wish& wish : request.alternatives) {
      auto kind = classes_.find(wish.class_name);
      if (kind == classes_.end())
        return "request " + request.name + ": device class " + wish.class_name + " does not exist";
      for (const Selector* selector : {&wish.selector, &kind->second})
        if (!selector->unreadable.empty())
          return beyond("devices by the expression " + selector->unreadable);
      if (!wish.refused.empty()) return beyond(wish.refused);
    }
  return {};
}

std::string DynamicResources::blocked(const Task& task) const {
  for (const DeviceClaim& use : task.device_claims) {
    if (use.object.empty())
      return "pod \"" + task.ns + "/" + task.name + "\": ResourceClaim not created yet";
    auto claim = claims_.find(task.ns + "/" + use.object);
    if (claim == claims_.end())
      return "resourceclaim.resource.k8s.io \"" + use.object + "\" not found";
    if (std::string objects = objection(claim->second, use.object); !objects.empty())
      return objects;
    if (claim->second.reserved.size() >= kMostUsers && !claim->second.reserved.contains(task.uid))
      return "resourceclaim in use";
  }
  return {};
}

const std::unordered_set<std::string>& DynamicResources::taken_devices() const {
  if (!taken_) {
    taken_.emplace();
    for (const auto& [name, claim] : claims_)
      for (const GivenDevice& device : claim.devices) taken_->insert(device.key());
    for (const auto& [name, promise] : promises_)
      for (const GivenDevice& device : promise.devices) taken_->insert(device.key());
  }
  return *taken_;
}

std::vector<DynamicResources::SliceRef> DynamicResources::slices_at(const Node& node,
                                                                    const Names& names) const {
  std::vector<SliceRef> found;
  if (auto local = local_slices_.find(node.name); local != local_slices_.end()) found = local->second;
  for (SliceRef wide : wide_slices_)
    if (reaches(wide->second, node, names)) found.push_back(wide);
  std::sort(found.begin(), found.end(), [](SliceRef a, SliceRef b) { return a->first < b->first; });
  return found;
}

bool DynamicResources::reaches(const Slice& slice, const Node& node, const Names& names) const {
  if (slice.everywhere || slice.node == node.name) return true;
  return slice.has_terms && any_matches(true, slice.terms, node, names);
}

bool DynamicResources::matches_device(const Slice& slice, const Device& device,
                                      const Wish& wish) const {
  auto holds = [&](const Equation& one) {
    if (one.attribute.empty()) return one.literal == "\"" + slice.driver + "\"";
    auto found = device.attributes.find(one.attribute);
    return found != device.attributes.end() && found->second == one.literal;
  };
  const Selector& kind = classes_.at(wish.class_name);
  return std::all_of(kind.equations.begin(), kind.equations.end(), holds) &&
         std::all_of(wish.selector.equations.begin(), wish.selector.equations.end(), holds);
}

std::optional<std::vector<GivenDevice>> DynamicResources::give(
    const Wish& wish, const std::vector<SliceRef>& slices, const std::set<std::string>& taken,
    const std::string& attribute, const std::string& value) const {
  std::vector<GivenDevice> given;
  for (SliceRef one_slice : slices) {
    const Slice& slice = one_slice->second;
    for (const Device& device : slice.devices) {
      if (!wish.all && static_cast<std::int64_t>(given.size()) == wish.count) return given;
      if (!matches_device(slice, device, wish)) continue;
      auto found = device.attributes.find(attribute);
      if (!attribute.empty() && (found == device.attributes.end() || found->second != value))
        continue;
      GivenDevice one{wish.name, slice.driver, slice.pool, device.name};
      const std::string id = one.key();
      if (!taken.contains(id) && !taken_devices().contains(id))
        given.push_back(std::move(one));
      else if (wish.all)
        return std::nullopt;  // all means all
    }
  }
  bool enough = wish.all ? !given.empty() : static_cast<std::int64_t>(given.size()) == wish.count;
  if (!enough) return std::nullopt;
  return given;
}

std::optional<std::vector<GivenDevice>> DynamicResources::satisfy(
    const Claim& claim, const std::vector<SliceRef>& slices,
    const std::set<std::string>& taken) const {
  std::set<std::string> values{""};
  if (!claim.match_attribute.empty()) {
    values.clear();
    for (SliceRef one : slices)
      for (const Device& device : one->second.devices)
        if (auto found = device.attributes.find(claim.match_attribute);
            found != device.attributes.end())
          values.insert(found->second);
  }
  for (const std::string& value : values) {
    std::set<std::string> gone = taken;
    std::vector<GivenDevice> all;
    bool met = true;
    for (const Request& request : claim.requests) {
      std::optional<std::vector<GivenDevice>> got;
      for (const Wish& wish : request.alternatives)
        if (!got) got = give(wish, slices, gone, claim.match_attribute, value);
      met = met && got.has_value();
      if (!met) break;
      for (GivenDevice& device : *got) {
        gone.insert(device.key());
        all.push_back(std::move(device));
      }
    }
    if (met) return all;
  }
  return std::nullopt;
}

std::optional<std::vector<ClaimDevices>> DynamicResources::choose(const Task& task,
                                                                  const Node& node,
                                                                  const Names& names,
                                                                  std::string& why) const {
  std::vector<ClaimDevices> chosen;
  const std::vector<SliceRef> slices = slices_at(node, names);
  std::set<std::string> taken;  // by claims of this very pod
  for (const DeviceClaim& use : task.device_claims) {
    std::string key = task.ns + "/" + use.object;
    const Claim& claim = claims_.at(key);
    auto promise = promises_.find(key);
    bool elsewhere = promise != promises_.end()
                         ? promise->second.node != node.name
                         : !any_matches(claim.has_terms, claim.terms, node, names);
    if (elsewhere) {
      why = "resourceclaim not available on the node";
      return std::nullopt;
    }
    if (claim.allocated || promise != promises_.end()) continue;
    std::optional<std::vector<GivenDevice>> devices = satisfy(claim, slices, taken);
    if (!devices) {
      why = "cannot allocate all claims";
      return std::nullopt;
    }
    for (const GivenDevice& device : *devices) taken.insert(device.key());
    chosen.push_back({key, std::move(*devices)});
  }
  return chosen;
}

// ---- promises

void DynamicResources::assume(const std::string& pod_uid, const Node& node,
                              std::vector<ClaimDevices> chosen) {
  taken_.reset();
  for (ClaimDevices& one : chosen)
    promises_[one.claim] = {pod_uid, node.name, std::move(one.devices)};
}

void DynamicResources::release(const std::string& pod_uid) {
  if (std::erase_if(promises_, [&](const auto& one) { return one.second.pod_uid == pod_uid; }) > 0)
    taken_.reset();
}

json::Value DynamicResources::allocation_of(const std::string& name) const {
  auto promise = promises_.find(name);
  if (promise == promises_.end()) return nullptr;
  json::Array results;
  for (const GivenDevice& one : promise->second.devices)
    results.push_back(json::Object{{"request", one.request},
                                   {"driver", one.driver},
                                   {"pool", one.pool},
                                   {"device", one.device}});
  json::Object field{{"key", "metadata.name"},
                     {"operator", "In"},
                     {"values", json::Array{json::Value(promise->second.node)}}};
  json::Object term{{"matchFields", json::Array{std::move(field)}}};
  return json::Object{
      {"devices", json::Object{{"results", std::move(results)}}},
      {"nodeSelector", json::Object{{"nodeSelectorTerms", json::Array{std::move(term)}}}}};
}

json::Value DynamicResources::reserved_for(const std::string& name, const Task& task) const {
  json::Array users;
  auto claim = claims_.find(name);
  if (claim != claims_.end() && claim->second.reserved_json.is_array())
    users = claim->second.reserved_json.get_array();
  if (claim == claims_.end() || !claim->second.reserved.contains(task.uid))
    users.push_back(json::Object{{"resource", "pods"}, {"name", task.name}, {"uid", task.uid}});
  return users;
}

}  // namespace hekla::scheduler
