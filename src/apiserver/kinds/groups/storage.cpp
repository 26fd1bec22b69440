// storage.k8s.io/v1. Only storage classes have a meaning here; the rest is kept for those who bring
// drivers.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kGroup = "storage.k8s.io";
constexpr std::string_view kPackage = "io.k8s.api.storage.v1";

bool is_default_class(const json::Value& object) {
  const json::Object* annotations = json::object_at(object, {"metadata", "annotations"});
  if (annotations == nullptr) return false;
  for (std::string_view key : {"storageclass.kubernetes.io/is-default-class",
                               "storageclass.beta.kubernetes.io/is-default-class"})
    if (const json::Value* value = json::find(*annotations, key);
        value != nullptr && *value == json::Value("true"))
      return true;
  return false;
}

std::vector<Cause> validate_class(const json::Value& object) {
  Rules rules;
  Field one(object, "");
  rules.need_text(one["provisioner"]);
  rules.one_of(one["reclaimPolicy"], {"Delete", "Retain"});
  rules.one_of(one["volumeBindingMode"], {"Immediate", "WaitForFirstConsumer"}, true);
  return std::move(rules.causes);
}

std::vector<Cause> validate_changed_class(const json::Value& object, const json::Value& old) {
  Rules rules;
  Field now(object, ""), before(old, "");
  if (!same(now["parameters"], before["parameters"]))
    rules.forbidden(now["parameters"], "updates to parameters are forbidden.");
  if (!same(now["provisioner"], before["provisioner"]))
    rules.forbidden(now["provisioner"], "updates to provisioner are forbidden.");
  if (!same(now["reclaimPolicy"], before["reclaimPolicy"]))
    rules.forbidden(now["reclaimPolicy"], "updates to reclaimPolicy are forbidden.");
  rules.immutable(now["volumeBindingMode"], before["volumeBindingMode"]);
  return std::move(rules.causes);
}

Kind storage_class_kind() {
  Kind kind = cluster_kind(kGroup, "v1", "storageclasses", "StorageClass", kPackage);
  kind.short_names = {"sc"};
  kind.traits.returns_deleted = true;
  kind.printing.names_itself = true;
  kind.printing.columns = columns(
      {"Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    std::string name(json::string_at(object, {"metadata", "name"}));
    if (is_default_class(object)) name += " (default)";
    return {json::Value(name),
            json::Value(json::string_at(object, {"provisioner"})),
            json::Value(text_or(object, {"reclaimPolicy"}, "Delete")),
            json::Value(text_or(object, {"volumeBindingMode"}, "Immediate")),
            json::bool_at(object, {"allowVolumeExpansion"}),
            json::Value(age(object, now))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    set_default(object.get_object(), "reclaimPolicy", "Delete");
    set_default(object.get_object(), "volumeBindingMode", "Immediate");
  };
  kind.rules.validate = validate_class;
  kind.rules.validate_update = validate_changed_class;
  return kind;
}

Kind driver_kind() {
  Kind kind = cluster_kind(kGroup, "v1", "csidrivers", "CSIDriver", kPackage);
  kind.traits.has_generation = true;
  kind.traits.first_generation = false;
  kind.traits.returns_deleted = true;
  kind.traits.unconditional_update = false;
  kind.printing.columns =
      columns({"AttachRequired:boolean", "PodInfoOnMount:boolean", "StorageCapacity:boolean",
               "TokenRequests", "RequiresRepublish:boolean", "Modes", "Age"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    std::vector<std::string> modes, audiences;
    if (const json::Array* list = json::array_at(object, {"spec", "volumeLifecycleModes"}))
      for (const json::Value& mode : *list) modes.push_back(scalar_text(mode));
    const json::Array* tokens = json::array_at(object, {"spec", "tokenRequests"});
    if (tokens != nullptr)
      for (const json::Value& token : *tokens)
        audiences.emplace_back(json::string_at(token, {"audience"}));
    return {json::bool_at(object, {"spec", "attachRequired"}, true),
            json::bool_at(object, {"spec", "podInfoOnMount"}),
            json::bool_at(object, {"spec", "storageCapacity"}),
            json::Value(tokens == nullptr ? "<unset>" : join(audiences, ",")),
            json::bool_at(object, {"spec", "requiresRepublish"}),
            json::Value(modes.empty() ? "<none>" : join(modes, ",")),
            json::Value(age(object, now))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    set_default(spec, "attachRequired", true);
    set_default(spec, "podInfoOnMount", false);
    set_default(spec, "storageCapacity", false);
    set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    set_default(spec, "requiresRepublish", false);
    set_default(spec, "seLinuxMount", false);
    if (list_in(spec, "volumeLifecycleModes").empty())
      spec["volumeLifecycleModes"] = json::Array{json::Value("Persistent")};
  };
  return kind;
}

Kind attachment_kind() {
  Kind kind = cluster_kind(kGroup, "v1", "volumeattachments", "VolumeAttachment", kPackage);
  kind.traits.has_status = true;
  kind.traits.returns_deleted = true;
  kind.traits.status_keeps = {"annotations", "finalizers", "labels", "ownerReferences"};
  kind.traits.unconditional_update = false;
  kind.printing.columns = columns({"Attacher", "PV", "Node", "Attached:boolean", "Age"});
  kind.printing.columns[0].format = "name";
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "attacher"})),
            json::Value(json::string_at(object, {"spec", "source", "persistentVolumeName"})),
            json::Value(json::string_at(object, {"spec", "nodeName"})),
            json::bool_at(object, {"status", "attached"}), json::Value(age(object, now))};
  };
  return kind;
}

void add_storage_kinds(Kinds& kinds) {
  add(kinds, storage_class_kind());
  add(kinds, driver_kind());
  add(kinds, attachment_kind());
  Kind node = cluster_kind(kGroup, "v1", "csinodes", "CSINode", kPackage);
  node.traits.unconditional_update = false;
  node.traits.returns_deleted = true;
  node.printing.columns = columns({"Drivers:integer", "Age"});
  node.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {count(object, {"spec", "drivers"}), json::Value(age(object, now))};
  };
  add(kinds, std::move(node));
  Kind capacity =
      builtin_kind(kGroup, "v1", "csistoragecapacities", "CSIStorageCapacity", kPackage);
  capacity.traits.unconditional_update = false;
  add(kinds, std::move(capacity));
  Kind attributes =
      cluster_kind(kGroup, "v1", "volumeattributesclasses", "VolumeAttributesClass", kPackage);
  attributes.short_names = {"vac"};
  attributes.printing.columns = columns({"DriverName", "Age"});
  attributes.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"driverName"})), json::Value(age(object, now))};
  };
  add(kinds, std::move(attributes));
}

}  // namespace

extern const KindGroup kinds_storage;
const KindGroup kinds_storage{add_storage_kinds};

}  // namespace hekla::apiserver
