#include "pipelines/driver/claim_steps.h"

#include "base/crypto.h"
#include "framework/writes.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::driver {
namespace {

const json::Value* input(const engine::Node& node, std::string_view name) {
  const json::Value* all = json::find(node.inputs, "parameterValues");
  return all ? json::find(*all, name) : nullptr;
}
std::string text(const engine::Node& node, std::string_view name) {
  const json::Value* value = input(node, name);
  return value ? ir::text_of(*value) : std::string();
}

// The given name, or one that follows from run, node and attempt, so that a crash makes no second.
std::string claim_name(const engine::Run& run, const engine::Node& node) {
  if (std::string name = text(node, "pvc_name"); !name.empty()) return name;
  const std::string hex =
      sha256_hex("claim\n" + run.facts.id + "\n" + node.id + "\n" + std::to_string(node.attempt));
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20, 12) + text(node, "pvc_name_suffix");
}

}  // namespace

Result<kube::Write> claim_write(const engine::Run& run, const engine::Node& node,
                                const std::string& ns) {
  const kube::Resource& claims = kube::resources::persistent_volume_claims;
  if (node.kind == engine::NodeKind::delete_pvc) {
    const std::string name = text(node, "pvc_name");
    if (name.empty()) return fail(Code::bad_request, "DeletePVC needs pvc_name");
    return framework::remove(claims, {ns, name});
  }
  const json::Value* modes = input(node, "access_modes");
  const std::string size = text(node, "size");
  if (modes == nullptr || !modes->is_array() || size.empty())
    return fail(Code::bad_request, "CreatePVC needs access_modes and size");
  if (input(node, "pvc_name") && input(node, "pvc_name_suffix"))
    return fail(Code::bad_request, "CreatePVC takes pvc_name or pvc_name_suffix, not both");
  json::Object spec{{"accessModes", *modes},
                    {"resources", json::Object{{"requests", json::Object{{"storage", size}}}}}};
  // Without one the cluster's default class is taken: not every cluster has one named "standard".
  if (input(node, "storage_class_name"))
    spec.emplace("storageClassName", text(node, "storage_class_name"));
  if (std::string volume = text(node, "volume_name"); !volume.empty())
    spec.emplace("volumeName", volume);
  if (const json::Value* source = input(node, "data_source")) spec.emplace("dataSource", *source);
  json::Object metadata{{"name", claim_name(run, node)},
                        {"labels", json::Object{{"pipeline/runid", run.facts.id}}}};
  if (const json::Value* annotations = input(node, "annotations"))
    metadata.emplace("annotations", *annotations);
  return framework::create(
      claims, ns, json::Object{{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

engine::NodeEnd claim_end(const engine::Run& run, const engine::Node& node,
                          const kube::WriteResult& result) {
  engine::NodeEnd end{node.id, node.attempt, true, {}, "", true};
  const bool create = node.kind == engine::NodeKind::create_pvc;
  if (!result && !(create && result.error().code == Code::already_exists)) {
    end.succeeded = false;
    end.error = result.error().message;
    return end;
  }
  if (create)
    end.outputs = {{"parameterValues", json::Object{{"name", claim_name(run, node)}}},
                   {"artifacts", json::Object{}}};
  return end;
}

}  // namespace hekla::pipelines::driver
