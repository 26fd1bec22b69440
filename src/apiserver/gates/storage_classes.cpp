#include "apiserver/gates/storage_classes.h"

#include <algorithm>

#include "apiserver/object/metadata.h"
#include "apiserver/text/errors.h"
#include "model/quantity.h"

namespace hekla::apiserver {

namespace {

using kube::AdmissionRequest;
using kube::Operation;

bool is_default_class(const json::Value& storage_class) {
  for (std::string_view annotation : {"storageclass.kubernetes.io/is-default-class",
                                      "storageclass.beta.kubernetes.io/is-default-class"})
    if (json::string_at(storage_class, {"metadata", "annotations", annotation}) == "true")
      return true;
  return false;
}

// Of several default classes the youngest counts, then the first by name.
Result<void> default_class(const AdmissionRequest& request, json::Value& claim) {
  const json::Value* given = json::find_path(claim, {"spec", "storageClassName"});
  if (given && !given->is_null()) return {};  // "" asks for no class
  if (json::find_path(claim,
                      {"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"}))
    return {};
  Result<std::vector<kube::SharedValue>> classes =
      request.reader->list(kube::resources::storage_classes, "");
  if (!classes) return {};
  const json::Value* best = nullptr;
  for (const kube::SharedValue& one : *classes)
    if (is_default_class(*one) &&
        (!best || meta_string(*one, "creationTimestamp") > meta_string(*best, "creationTimestamp")))
      best = one.get();
  if (best) json::at_path(claim, {"spec", "storageClassName"}) = meta_string(*best, "name");
  return {};
}

std::string class_of(const json::Value& claim) {
  const std::string_view beta = json::string_at(
      claim, {"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"});
  return std::string(beta.empty() ? json::string_at(claim, {"spec", "storageClassName"}) : beta);
}

Result<void> may_grow(const AdmissionRequest& request, const json::Value& claim) {
  if (!request.old_object) return {};
  const json::Value& old = *request.old_object;
  auto size_of = [](const json::Value& one) {
    const json::Value* size = json::find_path(one, {"spec", "resources", "requests", "storage"});
    return size ? model::Quantity::from_json(*size).value_or(model::Quantity()) : model::Quantity();
  };
  if (size_of(claim) <= size_of(old)) return {};
  auto refusal = [&](std::string why) {
    return std::unexpected(forbidden_error(request.resource, request.key.name, std::move(why)));
  };
  if (json::string_at(old, {"status", "phase"}) != "Bound")
    return refusal("Only bound persistent volume claims can be expanded");
  const std::string name = class_of(claim);
  if (!name.empty() && name == class_of(old)) {
    Result<kube::SharedValue> found =
        request.reader->get(kube::resources::storage_classes, {"", name});
    if (found && json::bool_at(**found, {"allowVolumeExpansion"})) return {};
  }
  return refusal(
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the "
      "pvc must "
      "support resize");
}

Result<void> protect(json::Value& object, std::string_view finalizer) {
  std::vector<std::string> all = finalizers_of(object);
  if (std::find(all.begin(), all.end(), finalizer) != all.end()) return {};
  all.emplace_back(finalizer);
  set_finalizers(object, all);
  return {};
}

}  // namespace

std::vector<kube::AdmissionStep> storage_admission() {
  auto on_create = [](std::string_view plural) {
    return [plural](const kube::Resource& resource, Operation operation,
                    std::string_view subresource) {
      return operation == Operation::create && resource.group.empty() &&
             resource.plural == plural && subresource.empty();
    };
  };
  std::vector<kube::AdmissionStep> steps;
  steps.push_back(
      {"DefaultStorageClass", on_create("persistentvolumeclaims"), default_class, nullptr});
  steps.push_back({"StorageObjectInUseProtection", on_create("persistentvolumeclaims"),
                   [](const AdmissionRequest&, json::Value& claim) {
                     return protect(claim, "kubernetes.io/pvc-protection");
                   },
                   nullptr});
  steps.push_back({"StorageObjectInUseProtection", on_create("persistentvolumes"),
                   [](const AdmissionRequest&, json::Value& volume) {
                     return protect(volume, "kubernetes.io/pv-protection");
                   },
                   nullptr});
  steps.push_back(
      {"PersistentVolumeClaimResize",
       [](const kube::Resource& resource, Operation operation, std::string_view subresource) {
         return operation == Operation::update && resource.group.empty() &&
                resource.plural == "persistentvolumeclaims" && subresource.empty();
       },
       nullptr, may_grow});
  return steps;
}

}  // namespace hekla::apiserver
