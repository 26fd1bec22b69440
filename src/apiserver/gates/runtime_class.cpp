#include "apiserver/gates/runtime_class.h"

#include <algorithm>

#include "apiserver/text/errors.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

const kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};

Error rejected(const kube::AdmissionRequest& request, const std::string& why) {
  return forbidden_error(request.resource, request.key.name, "pod rejected: " + why);
}

bool same_amounts(const json::Object& a, const json::Object& b) {
  auto amount = [](const json::Value& value) {
    return model::Quantity::parse(value.is_string() ? json::sv(value.get_string())
                                                    : std::string_view(json::serialize(value)));
  };
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& member) {
           const json::Value* other = b.if_contains(member.key());
           if (!other) return false;
           auto x = amount(member.value()), y = amount(*other);
           return x && y && *x == *y;
         });
}

Result<void> lend_overhead(const kube::AdmissionRequest& request, const json::Value& found,
                           json::Object& spec) {
  const json::Object* lent = json::object_at(found, {"overhead", "podFixed"});
  const json::Value* given = json::find(spec, "overhead");
  const bool has_own = given && given->is_object() && !given->get_object().empty();
  if (has_own && (!lent || !same_amounts(*lent, given->get_object())))
    return std::unexpected(
        rejected(request, "Pod's Overhead doesn't match RuntimeClass's defined Overhead"));
  if (lent && !lent->empty()) spec["overhead"] = *lent;
  return {};
}

Result<void> lend_placement(const kube::AdmissionRequest& request, const json::Value& found,
                            json::Object& spec) {
  if (const json::Object* lent = json::object_at(found, {"scheduling", "nodeSelector"})) {
    json::Value& own = spec["nodeSelector"];
    if (!own.is_object()) own.emplace_object();
    for (const auto& member : *lent) {
      const json::Value* before = json::find(own, member.key());
      if (before && *before != member.value())
        return std::unexpected(rejected(
            request, "conflict: runtimeClass.scheduling.nodeSelector[" + std::string(member.key()) +
                         "] = " + std::string(json::sv(member.value().get_string())) +
                         "; pod.spec.nodeSelector[" + std::string(member.key()) +
                         "] = " + std::string(json::sv(before->get_string()))));
      own.get_object()[member.key()] = member.value();
    }
  }
  if (const json::Array* lent = json::array_at(found, {"scheduling", "tolerations"})) {
    json::Value& own = spec["tolerations"];
    if (!own.is_array()) own.emplace_array();
    json::Array& list = own.get_array();
    for (const json::Value& one : *lent)
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
  return {};
}

Result<void> runtime_class(const kube::AdmissionRequest& request, json::Value& pod) {
  json::Value* spec = pod.is_object() ? pod.get_object().if_contains("spec") : nullptr;
  if (!spec || !spec->is_object()) return {};
  std::string name(json::string_at(*spec, {"runtimeClassName"}));
  if (name.empty()) {
    if (const json::Object* own = json::object_at(*spec, {"overhead"}); own && !own->empty())
      return std::unexpected(rejected(
          request, "Pod Overhead set without corresponding RuntimeClass defined Overhead"));
    return {};
  }
  Result<kube::SharedValue> found = request.reader->get(kRuntimeClasses, {"", name});
  if (!found) return std::unexpected(rejected(request, "RuntimeClass \"" + name + "\" not found"));
  TRY(lend_overhead(request, **found, spec->get_object()));
  return lend_placement(request, **found, spec->get_object());
}

}  // namespace

kube::AdmissionStep runtime_class_admission() {
  auto on_pods = [](const kube::Resource& resource, kube::Operation operation,
                    std::string_view subresource) {
    return operation == kube::Operation::create && resource == kube::resources::pods &&
           subresource.empty();
  };
  return {"RuntimeClass", on_pods, runtime_class, nullptr};
}

}  // namespace hekla::apiserver
