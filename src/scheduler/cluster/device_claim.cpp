#include "scheduler/cluster/device_claim.h"

#include <algorithm>

#include "scheduler/cluster/pod_neighbours.h"

namespace hekla::scheduler {

namespace {

const json::Array& array_of(const json::Value& value,
                            std::initializer_list<std::string_view> path) {
  static const json::Array kNone;
  const json::Array* found = json::array_at(value, path);
  return found == nullptr ? kNone : *found;
}

std::string text_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  return std::string(json::string_at(value, path));
}

std::vector<std::uint32_t> read_selectors(const json::Array& from, DeviceSelectors& selectors) {
  std::vector<std::uint32_t> out;
  for (const json::Value& one : from)
    out.push_back(selectors.intern(json::string_at(one, {"cel", "expression"})));
  return out;
}

DeviceWish read_wish(const json::Value& from, DeviceSelectors& selectors) {
  DeviceWish wish;
  wish.name = text_at(from, {"name"});
  wish.class_name = text_at(from, {"deviceClassName"});
  wish.selectors = read_selectors(array_of(from, {"selectors"}), selectors);
  wish.all = json::string_at(from, {"allocationMode"}) == "All";
  wish.admin = json::bool_at(from, {"adminAccess"});
  wish.count = json::int_at(from, {"count"}, 1);
  wish.tolerations = array_of(from, {"tolerations"});
  if (json::find(from, "capacity") != nullptr) wish.refused = "capacity";
  return wish;
}

DeviceRequestSpec read_request(const json::Value& from, DeviceSelectors& selectors) {
  DeviceRequestSpec request;
  request.name = text_at(from, {"name"});
  for (const json::Value& each : array_of(from, {"firstAvailable"})) {
    request.alternatives.push_back(read_wish(each, selectors));
    request.alternatives.back().name.insert(0, request.name + "/");
  }
  if (!request.alternatives.empty()) return request;
  const json::Value* exactly =
      json::find(from, "exactly");  // older versions have it all in the request
  request.alternatives.push_back(read_wish(exactly == nullptr ? from : *exactly, selectors));
  request.alternatives.back().name = request.name;
  return request;
}

void read_status(const json::Value& body, Names& names, ClaimSpec& claim) {
  if (json::find_path(body, {"status", "allocation"}) != nullptr) {
    claim.allocated = true;
    for (const json::Value& one : array_of(body, {"status", "allocation", "devices", "results"}))
      claim.devices.push_back(
          {text_at(one, {"driver"}) + "/" + text_at(one, {"pool"}) + "/" + text_at(one, {"device"}),
           text_at(one, {"request"}), json::bool_at(one, {"adminAccess"})});
    if (json::find_path(body, {"status", "allocation", "nodeSelector"}) != nullptr) {
      claim.has_terms = true;
      for (const json::Value& term :
           array_of(body, {"status", "allocation", "nodeSelector", "nodeSelectorTerms"}))
        claim.terms.push_back(make_node_term(term, names));
    }
  }
  for (const json::Value& user : array_of(body, {"status", "reservedFor"}))
    claim.reserved.insert(text_at(user, {"uid"}));
}

}  // namespace

bool DeviceConstraint::concerns(const DeviceRequestSpec& request, const DeviceWish& wish) const {
  return requests.empty() ||
         std::any_of(requests.begin(), requests.end(), [&](const std::string& one) {
           return one == request.name || one == wish.name;
         });
}

DeviceClassSpec read_device_class(const json::Value& body, DeviceSelectors& selectors) {
  return {read_selectors(array_of(body, {"spec", "selectors"}), selectors),
          array_of(body, {"spec", "config"})};
}

ClaimSpec read_claim(const std::string& name, const json::Value& body, DeviceSelectors& selectors,
                     Names& names) {
  ClaimSpec claim;
  claim.name = name;
  for (const json::Value& one : array_of(body, {"spec", "devices", "requests"}))
    claim.requests.push_back(read_request(one, selectors));
  for (const json::Value& one : array_of(body, {"spec", "devices", "constraints"})) {
    DeviceConstraint constraint;
    constraint.attribute = text_at(one, {"matchAttribute"});
    constraint.distinct = constraint.attribute.empty();
    if (constraint.distinct) constraint.attribute = text_at(one, {"distinctAttribute"});
    for (const json::Value& request : array_of(one, {"requests"}))
      if (request.is_string()) constraint.requests.emplace_back(json::sv(request.get_string()));
    if (constraint.attribute.empty()) claim.refused = "a constraint of an unknown type";
    claim.constraints.push_back(std::move(constraint));
  }
  claim.config = array_of(body, {"spec", "devices", "config"});
  read_status(body, names, claim);
  return claim;
}

bool tolerates(const json::Array& tolerations, const DeviceTaint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const json::Value& one) {
    std::string_view key = json::string_at(one, {"key"}), effect = json::string_at(one, {"effect"});
    if (!effect.empty() && effect != taint.effect) return false;
    if (!key.empty() && key != taint.key) return false;
    return json::string_at(one, {"operator"}) == "Exists" ||
           json::string_at(one, {"value"}) == taint.value;
  });
}

}  // namespace hekla::scheduler
