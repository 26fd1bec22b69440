#include "agent/volumes/claim_match.h"

#include <algorithm>

#include "json/parse.h"
#include "model/quantity.h"
#include "model/selector.h"

namespace hekla::agent {
namespace {

model::Quantity storage_of(const json::Value& object,
                           std::initializer_list<std::string_view> path) {
  const json::Value* found = json::find_path(object, path);
  if (!found) return {};
  return model::Quantity::from_json(*found).value_or(model::Quantity());
}

bool offers_modes(const json::Value& volume, const json::Value& claim) {
  const json::Array* wanted = json::array_at(claim, {"spec", "accessModes"});
  const json::Array* offered = json::array_at(volume, {"spec", "accessModes"});
  if (!wanted) return true;
  return offered && std::ranges::all_of(*wanted, [&](const json::Value& mode) {
           return std::ranges::any_of(
               *offered, [&](const json::Value& one) { return json::equal(one, mode); });
         });
}

bool has_labels(const json::Value& volume, const json::Value& claim) {
  const json::Value* wanted = json::find_path(claim, {"spec", "selector"});
  if (!wanted || wanted->is_null()) return true;
  Result<model::Selector> selector = model::Selector::from_label_selector(*wanted);
  if (!selector) return false;
  model::Labels labels;
  if (const json::Object* own = json::object_at(volume, {"metadata", "labels"}))
    for (const auto& entry : *own)
      if (entry.value().is_string())
        labels[std::string(entry.key())] = json::sv(entry.value().get_string());
  return selector->matches(labels);
}

bool is_reserved(const json::Value& volume) {
  const json::Value* ref = json::find_path(volume, {"spec", "claimRef"});
  return ref && ref->is_object();
}

bool is_free_for(const json::Value& volume, const json::Value& claim) {
  if (!is_reserved(volume)) return true;
  const json::Value* ref = json::find_path(volume, {"spec", "claimRef"});
  std::string uid = json::text_at(*ref, {"uid"});
  return json::text_at(*ref, {"name"}) == json::text_at(claim, {"metadata", "name"}) &&
         json::text_at(*ref, {"namespace"}) == json::text_at(claim, {"metadata", "namespace"}) &&
         (uid.empty() || uid == json::text_at(claim, {"metadata", "uid"}));
}

json::Value parsed(const std::string& text) {
  Result<json::Value> value = json::parse(text);
  return value ? std::move(*value) : json::Value(json::Object{});
}

}  // namespace

json::Value local_path_class() {
  return parsed(std::string(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",)") +
                R"("metadata":{"name":"local-path","annotations":)" +
                R"({"storageclass.kubernetes.io/is-default-class":"true"}},)" +
                R"("provisioner":"rancher.io/local-path","reclaimPolicy":"Delete",)" +
                R"("volumeBindingMode":"WaitForFirstConsumer"})");
}

std::optional<std::size_t> match_volume(const json::Value& claim,
                                        const std::vector<json::Value>& volumes) {
  const model::Quantity wanted = storage_of(claim, {"spec", "resources", "requests", "storage"});
  const std::string_view named = json::string_at(claim, {"spec", "volumeName"});
  std::optional<std::size_t> best;
  model::Quantity best_size;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const json::Value& volume = volumes[i];
    if (!named.empty() && json::string_at(volume, {"metadata", "name"}) != named) continue;
    model::Quantity size = storage_of(volume, {"spec", "capacity", "storage"});
    bool fits = json::text_at(volume, {"spec", "storageClassName"}) ==
                    json::text_at(claim, {"spec", "storageClassName"}) &&
                size.value() >= wanted.value() && offers_modes(volume, claim) &&
                (!named.empty() || has_labels(volume, claim)) && is_free_for(volume, claim);
    if (!fits) continue;
    if (is_reserved(volume)) return i;
    if (best && best_size.value() <= size.value()) continue;
    best = i;
    best_size = size;
  }
  return best;
}

json::Value volume_claim_ref(const json::Value& claim) {
  json::Object ref;
  ref["apiVersion"] = "v1";
  ref["kind"] = "PersistentVolumeClaim";
  for (const char* member : {"name", "namespace", "uid"})
    ref[member] = json::text_at(claim, {"metadata", member});
  return ref;
}

json::Value provisioned_volume(const json::Value& claim, const json::Value& storage_class,
                               const std::string& path, const std::string& node) {
  json::Value volume =
      parsed(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"annotations":{}},"spec":)"
             R"({"hostPath":{"type":"DirectoryOrCreate"},"capacity":{},"volumeMode":"Filesystem",)"
             R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":)"
             R"([{"key":"kubernetes.io/hostname","operator":"In","values":[]}]}]}}}})");
  json::Object& metadata = volume.as_object()["metadata"].as_object();
  metadata["name"] = "pvc-" + json::text_at(claim, {"metadata", "uid"});
  metadata["annotations"].as_object()[kProvisionedBy] = kLocalPathProvisioner;
  json::Object& spec = volume.as_object()["spec"].as_object();
  spec["hostPath"].as_object()["path"] = path;
  if (const json::Value* size =
          json::find_path(claim, {"spec", "resources", "requests", "storage"}))
    spec["capacity"].as_object()["storage"] = *size;
  if (const json::Value* modes = json::find_path(claim, {"spec", "accessModes"}))
    spec["accessModes"] = *modes;
  std::string reclaim = json::text_at(storage_class, {"reclaimPolicy"});
  spec["persistentVolumeReclaimPolicy"] = reclaim.empty() ? "Delete" : reclaim;
  spec["storageClassName"] = json::text_at(storage_class, {"metadata", "name"});
  spec["claimRef"] = volume_claim_ref(claim);
  json::Value& terms =
      spec["nodeAffinity"].as_object()["required"].as_object()["nodeSelectorTerms"];
  terms.as_array()[0]
      .as_object()["matchExpressions"]
      .as_array()[0]
      .as_object()["values"]
      .as_array()
      .emplace_back(node);
  return volume;
}

json::Value claim_binding(const std::string& volume, const std::string& provisioner) {
  json::Value patch =
      parsed(R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes",)"
             R"("pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{}})");
  patch.as_object()["spec"].as_object()["volumeName"] = volume;
  if (!provisioner.empty())
    patch.as_object()["metadata"]
        .as_object()["annotations"]
        .as_object()["volume.kubernetes.io/storage-provisioner"] = provisioner;
  return patch;
}

json::Value claim_bound_status(const json::Value& volume) {
  json::Value patch = parsed(R"({"status":{"phase":"Bound"}})");
  json::Object& status = patch.as_object()["status"].as_object();
  if (const json::Value* modes = json::find_path(volume, {"spec", "accessModes"}))
    status["accessModes"] = *modes;
  if (const json::Value* capacity = json::find_path(volume, {"spec", "capacity"}))
    status["capacity"] = *capacity;
  return patch;
}

Result<std::string> volume_path(const json::Value& volume) {
  for (std::string_view source : {"hostPath", "local"})
    if (std::string path = json::text_at(volume, {"spec", source, "path"}); !path.empty())
      return path;
  return fail(Code::invalid, "persistentvolume \"" + json::text_at(volume, {"metadata", "name"}) +
                                 "\" is neither a hostPath nor a local volume");
}

bool is_read_only(const json::Value& volume) {
  const json::Array* modes = json::array_at(volume, {"spec", "accessModes"});
  return modes && modes->size() == 1 && modes->front().is_string() &&
         json::sv(modes->front().get_string()) == "ReadOnlyMany";
}

std::string claim_behind(const model::Pod& pod, const json::Value& volume) {
  if (json::object_at(volume, {"ephemeral"}))
    return pod.metadata.name + "-" + std::string(json::string_at(volume, {"name"}));
  return std::string(json::string_at(volume, {"persistentVolumeClaim", "claimName"}));
}

}  // namespace hekla::agent
