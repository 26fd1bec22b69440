// resource.k8s.io/v1, dynamic resource allocation: kept and shown for those who bring drivers.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::string_view kPackage = "io.k8s.api.resource.v1";

std::string claim_state(const json::Value& claim) {
  std::vector<std::string> states;
  if (!json::string_at(claim, {"metadata", "deletionTimestamp"}).empty())
    states.emplace_back("deleted");
  if (json::object_at(claim, {"status", "allocation"}) == nullptr) {
    if (states.empty()) states.emplace_back("pending");
  } else {
    states.emplace_back("allocated");
    states.emplace_back(count(claim, {"status", "reservedFor"}) > 0 ? "reserved" : "");
    if (states.back().empty()) states.pop_back();
  }
  return join(states, ",");
}

json::Array age_only(const json::Value& object, WallTime now) {
  return {json::Value(age(object, now))};
}

void default_request(json::Object& request) {
  set_default(request, "allocationMode", "ExactCount");
  if (request["allocationMode"] == json::Value("ExactCount")) set_default(request, "count", 1);
  for (json::Value& toleration : list_in(request, "tolerations"))
    if (toleration.is_object()) set_default(toleration.get_object(), "operator", "Equal");
}

// `holder` has a claim's spec.
void default_claim(json::Object& holder) {
  json::Object& devices = object_in_place(object_in_place(holder, "spec"), "devices");
  for (json::Value& request : list_in(devices, "requests")) {
    if (!request.is_object()) continue;
    json::Object& one = request.get_object();
    if (json::Value* exactly = one.if_contains("exactly"); exactly && exactly->is_object())
      default_request(exactly->get_object());
    for (json::Value& choice : list_in(one, "firstAvailable"))
      if (choice.is_object()) default_request(choice.get_object());
  }
}

void add_resource_kinds(Kinds& kinds) {
  Kind device = cluster_kind(kGroup, "v1", "deviceclasses", "DeviceClass", kPackage);
  device.traits.has_generation = true;
  device.traits.returns_deleted = true;
  device.printing.columns = columns({"Age"});
  device.printing.cells = age_only;
  add(kinds, std::move(device));

  Kind claim = builtin_kind(kGroup, "v1", "resourceclaims", "ResourceClaim", kPackage);
  claim.traits.has_status = true;
  claim.traits.returns_deleted = true;
  claim.traits.status_keeps = {"annotations", "finalizers", "labels", "ownerReferences"};
  claim.rules.set_defaults = [](json::Value& object) { default_claim(object.get_object()); };
  claim.printing.columns = columns({"State", "Age"});
  claim.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(claim_state(object)), json::Value(age(object, now))};
  };
  add(kinds, std::move(claim));

  Kind claim_template =
      builtin_kind(kGroup, "v1", "resourceclaimtemplates", "ResourceClaimTemplate", kPackage);
  claim_template.printing.columns = columns({"Age"});
  claim_template.rules.set_defaults = [](json::Value& object) {
    default_claim(object_in_place(object.get_object(), "spec"));
  };
  claim_template.printing.cells = age_only;
  add(kinds, std::move(claim_template));

  Kind slice = cluster_kind(kGroup, "v1", "resourceslices", "ResourceSlice", kPackage);
  slice.traits.has_generation = true;
  slice.printing.columns = columns({"Node", "Driver", "Pool", "Age"});
  slice.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(text_or(object, {"spec", "nodeName"}, "<unset>")),
            json::Value(json::string_at(object, {"spec", "driver"})),
            json::Value(json::string_at(object, {"spec", "pool", "name"})),
            json::Value(age(object, now))};
  };
  slice.selectable = {{"spec.nodeName", field_at({"spec", "nodeName"})},
                      {"spec.driver", field_at({"spec", "driver"})}};
  add(kinds, std::move(slice));
}

}  // namespace

extern const KindGroup kinds_resource;
const KindGroup kinds_resource{add_resource_kinds};

}  // namespace hekla::apiserver
