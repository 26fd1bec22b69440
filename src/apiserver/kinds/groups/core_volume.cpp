// v1 PersistentVolume and PersistentVolumeClaim.
#include <algorithm>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/kinds/rules/volume_rules.h"
#include "apiserver/text/field_error.h"
#include "model/names.h"
#include "model/quantity.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

std::string access_modes(const json::Array* modes) {
  std::vector<std::string> out;
  if (modes == nullptr) return "";
  const std::pair<std::string_view, std::string_view> kShort[] = {{"ReadWriteOnce", "RWO"},
                                                                  {"ReadOnlyMany", "ROX"},
                                                                  {"ReadWriteMany", "RWX"},
                                                                  {"ReadWriteOncePod", "RWOP"}};
  for (const auto& [name, letters] : kShort)
    for (const json::Value& mode : *modes)
      if (mode.is_string() && json::sv(mode.get_string()) == name) {
        out.emplace_back(letters);
        break;
      }
  return join(out, ",");
}

std::string storage_class(const json::Value& object) {
  const json::Object* annotations = json::object_at(object, {"metadata", "annotations"});
  if (annotations != nullptr)
    if (const json::Value* old = json::find(*annotations, kClassAnnotation))
      return scalar_text(*old);
  return std::string(json::string_at(object, {"spec", "storageClassName"}));
}

std::string phase_cell(const json::Value& object) {
  bool leaving = !json::string_at(object, {"metadata", "deletionTimestamp"}).empty();
  return leaving ? "Terminating" : std::string(json::string_at(object, {"status", "phase"}));
}

std::string storage_at(const json::Value& object, std::string_view part, std::string_view member) {
  const json::Value* size = json::find_path(object, {part, member, "storage"});
  return size == nullptr ? "0" : scalar_text(*size);
}

json::Array volume_cells(const json::Value& pv, WallTime now) {
  std::string claim;
  if (json::object_at(pv, {"spec", "claimRef"}) != nullptr)
    claim = std::string(json::string_at(pv, {"spec", "claimRef", "namespace"})) + "/" +
            std::string(json::string_at(pv, {"spec", "claimRef", "name"}));
  return {json::Value(storage_at(pv, "spec", "capacity")),
          json::Value(access_modes(json::array_at(pv, {"spec", "accessModes"}))),
          json::Value(json::string_at(pv, {"spec", "persistentVolumeReclaimPolicy"})),
          json::Value(phase_cell(pv)),
          json::Value(claim),
          json::Value(storage_class(pv)),
          json::Value(text_or(pv, {"spec", "volumeAttributesClassName"}, "<unset>")),
          json::Value(json::string_at(pv, {"status", "reason"})),
          json::Value(age(pv, now)),
          json::Value(text_or(pv, {"spec", "volumeMode"}, "<unset>"))};
}

json::Array claim_cells(const json::Value& claim, WallTime now) {
  std::string volume(json::string_at(claim, {"spec", "volumeName"}));
  std::string capacity, modes;
  if (!volume.empty()) {
    modes = access_modes(json::array_at(claim, {"status", "accessModes"}));
    capacity = storage_at(claim, "status", "capacity");
  }
  return {json::Value(phase_cell(claim)),
          json::Value(volume),
          json::Value(capacity),
          json::Value(modes),
          json::Value(storage_class(claim)),
          json::Value(text_or(claim, {"spec", "volumeAttributesClassName"}, "<unset>")),
          json::Value(age(claim, now)),
          json::Value(text_or(claim, {"spec", "volumeMode"}, "<unset>"))};
}

void check_modes(const Field& modes, Rules& rules) {
  if (modes.items().empty()) rules.required(modes, "at least 1 access mode is required");
  for (std::size_t i = 0; i < modes.items().size(); ++i)
    if (std::string_view mode = modes.at(i).text();
        mode != "ReadOnlyMany" && mode != "ReadWriteMany" && mode != "ReadWriteOnce" &&
        mode != "ReadWriteOncePod")
      rules.causes.push_back(unsupported_value(
          modes.path(), modes.at(i).value(),
          {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}));
  const auto once = std::ranges::count_if(modes.items(), [](const json::Value& mode) {
    return mode.is_string() && mode.get_string() == "ReadWriteOncePod";
  });
  if (once > 0 && static_cast<std::size_t>(once) < modes.items().size())
    rules.forbidden(modes, "may not use ReadWriteOncePod with other access modes");
}

// Sources of a volume, in the order in which upstream looks for them.
constexpr std::string_view kVolumeSources[]{"hostPath",
                                            "gcePersistentDisk",
                                            "awsElasticBlockStore",
                                            "glusterfs",
                                            "flocker",
                                            "nfs",
                                            "rbd",
                                            "quobyte",
                                            "cephfs",
                                            "iscsi",
                                            "cinder",
                                            "fc",
                                            "flexVolume",
                                            "azureFile",
                                            "vsphereVolume",
                                            "photonPersistentDisk",
                                            "portworxVolume",
                                            "azureDisk",
                                            "scaleIO",
                                            "local",
                                            "storageos",
                                            "csi"};

std::vector<Cause> validate_volume(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  check_modes(spec["accessModes"], rules);
  if (spec["capacity"].members().empty()) rules.required(spec["capacity"]);
  for (const auto& entry : spec["capacity"].members()) {
    auto size = model::Quantity::from_json(entry.value());
    if (size && size->nanos <= 0)
      rules.invalid(spec["capacity"].key(entry.key()), entry.value(), "must be greater than zero");
  }
  rules.one_of(spec["persistentVolumeReclaimPolicy"], {"Delete", "Recycle", "Retain"});
  rules.one_of(spec["volumeMode"], {"Block", "Filesystem"});
  int sources = 0;
  for (std::string_view source : kVolumeSources)
    if (spec[source].present() && ++sources > 1)
      rules.forbidden(spec[source], "may not specify more than 1 volume type");
  if (const Field csi = spec["csi"]; csi.present()) {
    const json::Value driver(csi["driver"].text());
    validate_driver_name(Field(driver, csi["driver"].path()), rules);
    rules.need_text(csi["volumeHandle"]);
  }
  if (const Field named = spec["volumeAttributesClassName"]; named.present()) {
    if (named.text().empty())
      rules.required(named, "an empty string is disallowed");
    else if (rules.dns_subdomain(named) && !spec["csi"].present())
      rules.required(spec["csi"], "has to be specified when using volumeAttributesClassName");
  }
  if (sources == 0) rules.required(spec, "must specify a volume type");
  if (spec["local"].present() && !spec["nodeAffinity"].present())
    rules.required(spec["nodeAffinity"], "Local volume requires node affinity");
  if (spec["nodeAffinity"]["required"].present())
    validate_node_selector(spec["nodeAffinity"]["required"], rules);
  return std::move(rules.causes);
}

// The source of a volume does not change under its users.
std::vector<Cause> validate_changed_volume(const json::Value& object, const json::Value& old) {
  Rules rules;
  const Field now = Field(object, "")["spec"], before = Field(old, "")["spec"];
  const bool as_before = std::ranges::all_of(kVolumeSources, [&](std::string_view source) {
    json::Value given = now[source].value();
    // How to grow it may be told later.
    if (given.is_object() && !before[source]["controllerExpandSecretRef"].present())
      given.get_object().erase("controllerExpandSecretRef");
    return same(Field(given, ""), before[source]);
  });
  if (!as_before)
    rules.forbidden(now["persistentvolumesource"],
                    "spec.persistentvolumesource is immutable after creation\n");
  rules.immutable(Field(now["volumeMode"].value(), "volumeMode"), before["volumeMode"]);
  if (before["nodeAffinity"].present() && !same(now["nodeAffinity"], before["nodeAffinity"]))
    rules.invalid(Field(now["nodeAffinity"].value(), "nodeAffinity"),
                  "field is immutable, except for updating from beta label to GA");
  if (before["volumeAttributesClassName"].present() && !now["volumeAttributesClassName"].present())
    rules.forbidden(now["volumeAttributesClassName"],
                    "update from non-nil value to nil is forbidden");
  return std::move(rules.causes);
}

// The older way to name what a claim is filled from and the newer one say the same.
void mirror_source(json::Object& spec) {
  json::Value* source = spec.if_contains("dataSource");
  if (source && !source->is_null()) {
    const std::string_view kind = json::string_at(*source, {"kind"}),
                           group = json::string_at(*source, {"apiGroup"});
    const bool known = (kind == "PersistentVolumeClaim" && group.empty()) ||
                       (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
    if (!known) spec.erase("dataSource");
  }
  source = spec.if_contains("dataSource");
  const json::Value* reference = spec.if_contains("dataSourceRef");
  if (source && !reference) {
    json::Value copied = *source;
    spec.emplace("dataSourceRef", std::move(copied));
  } else if (reference && !source && json::string_at(*reference, {"namespace"}).empty()) {
    json::Value copied = *reference;
    if (copied.is_object()) copied.get_object().erase("namespace");
    spec.emplace("dataSource", std::move(copied));
  }
}

void validate_source_reference(const Field& source, Rules& rules) {
  if (!source.present()) return;
  rules.need_text(source["name"]);
  rules.need_text(source["kind"]);
  if (source["apiGroup"].text().empty() && source["kind"].text() != "PersistentVolumeClaim")
    rules.invalid(source, json::Value(source["kind"].text()),
                  "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}

void stamp_phase(json::Value& object, const WriteContext& context) {
  json::at_path(object, {"status", "lastPhaseTransitionTime"}) = model::format_rfc3339(context.now);
}

// Bytes once promised stay; only the request of a bound claim may grow (by
// gates/storage_classes.cpp's leave), and a volume may be bound.
std::vector<Cause> validate_changed_claim(const json::Value& object, const json::Value& old) {
  Rules rules;
  Field now = Field(object, "")["spec"], before = Field(old, "")["spec"];
  json::Value a = now.value(), b = before.value();
  if (!a.is_object() || !b.is_object()) return {};
  const bool bound = json::string_at(object, {"status", "phase"}) == "Bound";
  for (json::Value* side : {&a, &b}) {
    if (bound) side->get_object().erase("volumeAttributesClassName");
    if (json::Value* resources = side->get_object().if_contains("resources"))
      if (bound && resources->is_object())
        if (json::Value* requests = resources->get_object().if_contains("requests"))
          if (requests->is_object()) requests->get_object().erase("storage");
    // Binding fills what was empty.
    if (before["volumeName"].text().empty()) side->get_object().erase("volumeName");
    if (!before["storageClassName"].present()) side->get_object().erase("storageClassName");
  }
  if (!json::equal(a, b))
    rules.forbidden(now,
                    "spec is immutable after creation except resources.requests and "
                    "volumeAttributesClassName for "
                    "bound claims");
  auto wanted = model::Quantity::from_json(now["resources"]["requests"]["storage"].value());
  auto had = model::Quantity::from_json(before["resources"]["requests"]["storage"].value());
  auto given = model::Quantity::from_json(Field(old, "")["status"]["capacity"]["storage"].value());
  if (wanted && had && *wanted < *had && given && *wanted <= *given)
    rules.forbidden(now["resources"]["requests"]["storage"],
                    "field can not be less than status.capacity");
  return std::move(rules.causes);
}

}  // namespace

void default_claim_spec(json::Object& spec) { set_default(spec, "volumeMode", "Filesystem"); }

void validate_claim_spec(const Field& spec, Rules& rules) {
  check_modes(spec["accessModes"], rules);
  if (spec["selector"].present()) rules.selector(spec["selector"]);
  Field size = spec["resources"]["requests"]["storage"];
  auto bytes = model::Quantity::from_json(size.value());
  if (!size.present())
    rules.required(Field(size.value(), spec.path() + ".resources[storage]"));
  else if (bytes && bytes->nanos <= 0)
    rules.invalid(Field(size.value(), spec.path() + ".resources[storage]"),
                  json::Value(bytes->text()), "must be greater than zero");
  if (!spec["storageClassName"].text().empty()) rules.dns_subdomain(spec["storageClassName"]);
  rules.one_of(spec["volumeMode"], {"Block", "Filesystem"});
  for (std::string_view source : {"dataSource", "dataSourceRef"})
    validate_source_reference(spec[source], rules);
}

void validate_driver_name(const Field& driver, Rules& rules) {
  if (driver.text().empty()) rules.required(driver);
  if (driver.text().size() > 63) rules.causes.push_back(too_long(driver.path(), 63));
  std::string lower(driver.text());
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string& why : model::dns1123_subdomain_errors(lower)) rules.invalid(driver, why);
}

namespace {

void add_core_volume_kinds(Kinds& kinds) {
  Kind volume = cluster_kind("", "v1", "persistentvolumes", "PersistentVolume", kCorePackage);
  volume.short_names = {"pv"};
  volume.traits.has_status = true;
  volume.traits.returns_deleted = true;
  volume.printing.columns =
      columns({"Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass",
               "VolumeAttributesClass", "Reason", "Age", "VolumeMode*"});
  volume.printing.cells = volume_cells;
  volume.rules.set_defaults = [](json::Value& object) {
    json::Value* spec = object.get_object().if_contains("spec");
    if (spec == nullptr || !spec->is_object()) return;
    set_default(spec->get_object(), "persistentVolumeReclaimPolicy", "Retain");
    set_default(spec->get_object(), "volumeMode", "Filesystem");
    if (json::Value* host = spec->get_object().if_contains("hostPath");
        host != nullptr && host->is_object())
      if (!host->get_object().contains("type")) host->get_object().emplace("type", "");
  };
  volume.rules.prepare_create = [](json::Value& object, const WriteContext& context) {
    json::at_path(object, {"status", "phase"}) = "Pending";
    stamp_phase(object, context);
  };
  volume.rules.prepare_update = [](json::Value& object, const json::Value& old,
                                   const WriteContext& context) {
    if (json::string_at(object, {"status", "phase"}) != json::string_at(old, {"status", "phase"}))
      stamp_phase(object, context);
  };
  volume.rules.validate = validate_volume;
  volume.rules.validate_update = validate_changed_volume;
  add(kinds, std::move(volume));

  Kind claim =
      builtin_kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", kCorePackage);
  claim.short_names = {"pvc"};
  claim.traits.has_status = true;
  claim.traits.returns_deleted = true;
  claim.printing.columns = columns({"Status", "Volume", "Capacity", "Access Modes", "StorageClass",
                                    "VolumeAttributesClass", "Age", "VolumeMode*"});
  claim.printing.cells = claim_cells;
  claim.rules.set_defaults = [](json::Value& object) {
    json::Value* spec = object.get_object().if_contains("spec");
    if (spec != nullptr && spec->is_object()) default_claim_spec(spec->get_object());
  };
  claim.rules.prepare_create = [](json::Value& object, const WriteContext&) {
    if (json::Value* spec = object.get_object().if_contains("spec"); spec && spec->is_object())
      mirror_source(spec->get_object());
    json::at_path(object, {"status", "phase"}) = "Pending";
  };
  claim.rules.validate = [](const json::Value& object) {
    Rules rules;
    validate_claim_spec(Field(object, "")["spec"], rules);
    return std::move(rules.causes);
  };
  claim.rules.validate_update = validate_changed_claim;
  add(kinds, std::move(claim));
}

}  // namespace

extern const KindGroup kinds_core_volume;
const KindGroup kinds_core_volume{add_core_volume_kinds};

}  // namespace hekla::apiserver
