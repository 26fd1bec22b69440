#include "apiserver/crd/platform_crds.h"

#include <algorithm>

#include "apiserver/crd/crd.h"
#include "apiserver/object/metadata.h"
#include "apiserver/schema/facts.h"
#include "base/check.h"
#include "json/parse.h"
#include "net/text.h"

namespace hekla::apiserver {

namespace {

Result<json::Value> read_crd(std::string_view yaml) {
  std::vector<json::YamlDocument> documents = TRY(json::parse_yaml(yaml));
  if (documents.size() != 1 ||
      json::string_at(documents[0].value, {"kind"}) != "CustomResourceDefinition")
    return fail(Code::invalid, "expected one CustomResourceDefinition");
  return std::move(documents[0].value);
}

// Whether two editions of a version say the same of its objects.
bool reads_alike(const json::Value& theirs, const json::Value& ours) {
  const auto same = [&](std::string_view member) {
    const json::Value *a = json::find(theirs, member), *b = json::find(ours, member);
    return !a || (b && json::equal(*a, *b));
  };
  return same("schema") && same("additionalPrinterColumns");
}

// A CRD for one of the open kinds.
json::Value open_crd(const json::Value& kind) {
  const std::string name = json::text_at(kind, {"name"});
  const std::size_t dot = std::min(name.find('.'), name.size() - 1);
  const std::string scope = json::text_at(kind, {"scope"});
  json::Array versions;
  if (const json::Array* given = json::array_at(kind, {"versions"}))
    for (const json::Value& version : *given) {
      json::Object any{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
      versions.push_back(
          json::Object{{"name", version},
                       {"served", true},
                       {"storage", versions.empty()},
                       {"subresources", json::Object{{"status", json::Object()}}},
                       {"schema", json::Object{{"openAPIV3Schema", std::move(any)}}}});
    }
  json::Object names{{"plural", name.substr(0, dot)}, {"kind", json::text_at(kind, {"kind"})}};
  std::string singular = json::text_at(kind, {"kind"});
  std::ranges::transform(singular, singular.begin(), net::to_lower);
  names["singular"] = singular;
  names["listKind"] = json::text_at(kind, {"kind"}) + "List";
  json::Object spec{{"group", name.substr(dot + 1)},
                    {"scope", scope.empty() ? "Namespaced" : scope},
                    {"names", std::move(names)},
                    {"versions", std::move(versions)}};
  return json::Object{{"metadata", json::Object{{"name", name}}}, {"spec", std::move(spec)}};
}

bool is_open_template(std::string_view name, const Schema& schema) {
  return name == "template" && schema.type == Schema::Type::object && schema.preserve_unknown &&
         schema.properties.empty() && !schema.embedded_resource;
}

SchemaPtr pod_template(const std::string& description) {
  auto made = std::make_shared<Schema>(*builtin_type("io.k8s.api.core.v1.PodTemplateSpec"));
  made->description = description;
  return made;
}

}  // namespace

SchemaPtr with_pod_templates(const SchemaPtr& schema) {
  if (!schema || !schema->go_type.empty()) return schema;
  std::shared_ptr<Schema> changed;
  const auto change = [&]() -> Schema& {
    if (!changed) changed = std::make_shared<Schema>(*schema);
    return *changed;
  };
  for (const auto& [name, member] : schema->properties) {
    SchemaPtr next = is_open_template(name, *member) ? pod_template(member->description)
                                                     : with_pod_templates(member);
    if (next != member) change().properties[name] = std::move(next);
  }
  if (SchemaPtr items = with_pod_templates(schema->items); items != schema->items)
    change().items = std::move(items);
  if (SchemaPtr values = with_pod_templates(schema->additional); values != schema->additional)
    change().additional = std::move(values);
  return changed ? SchemaPtr(std::move(changed)) : schema;
}

Result<PlatformCrds> PlatformCrds::of(const std::vector<std::string_view>& yamls,
                                      std::span<const kube::Conversion> conversions) {
  PlatformCrds made;
  made.conversions_.assign(conversions.begin(), conversions.end());
  for (std::string_view yaml : yamls) {
    const json::Value crd = TRY(read_crd(yaml));
    CustomKinds kinds = TRY(kinds_of_crd(crd));
    for (KindPtr& kind : kinds.kinds) {
      auto templated = std::make_shared<Kind>(*kind);
      templated->schema = with_pod_templates(kind->schema);
      templated->platform = true;
      if (kinds.storage == kind) kinds.storage = templated;
      kind = std::move(templated);
    }
    std::string name(meta_string(crd, "name"));
    made.plug_conversion(name, kinds);
    made.crds_.emplace(std::move(name), Ours{std::move(kinds), yaml});
  }
  return made;
}

Result<void> PlatformCrds::add_open(const std::vector<std::string_view>& yamls) {
  for (std::string_view yaml : yamls)
    for (const json::YamlDocument& document : TRY(json::parse_yaml(yaml))) {
      if (!document.value.is_array()) return fail(Code::invalid, "a list of kinds is expected");
      for (const json::Value& one : document.value.get_array()) {
        std::string name = json::text_at(one, {"name"});
        if (has(name)) continue;
        open_.emplace(std::move(name), TRY(kinds_of_crd(open_crd(one))));
      }
    }
  return {};
}

std::vector<std::string> PlatformCrds::names() const {
  std::vector<std::string> all;
  for (const auto& [name, ours] : crds_) all.push_back(name);
  return all;
}

json::Value PlatformCrds::crd(std::string_view name) const {
  auto ours = crds_.find(name);
  CHECK(ours != crds_.end(), "a CRD of the platform is asked for by its name");
  Result<json::Value> read = read_crd(ours->second.yaml);
  CHECK(read, "what was read at the start is read again");
  return std::move(*read);
}

bool PlatformCrds::keep_ours(std::string_view name, json::Value& spec) const {
  json::Value ours = crd(name);
  json::Value kept = std::move(json::at_path(ours, {"spec"}));
  json::Array& versions = json::at_path(kept, {"versions"}).get_array();
  bool whole = json::string_at(spec, {"conversion", "strategy"}) != "Webhook";
  std::vector<json::Value> more;
  if (const json::Array* given = json::array_at(spec, {"versions"}))
    for (const json::Value& version : *given) {
      auto same = std::ranges::find_if(versions, [&](const json::Value& one) {
        return json::string_at(one, {"name"}) == json::string_at(version, {"name"});
      });
      if (same != versions.end()) {
        whole = whole && reads_alike(version, *same);
      } else if (json::bool_at(version, {"served"})) {
        more.push_back(version);
        json::at_path(more.back(), {"storage"}) = false;
      }
    }
  for (json::Value& version : more) versions.push_back(std::move(version));
  spec = std::move(kept);
  return whole;
}

CustomKinds PlatformCrds::completed(std::string_view name, CustomKinds installed) const {
  auto ours = crds_.find(name);
  if (ours == crds_.end()) return installed;
  CustomKinds kinds = ours->second.kinds;
  kinds.schema_since = installed.schema_since;
  for (const KindPtr& kind : installed.kinds) {
    const bool is_ours = std::ranges::any_of(kinds.kinds, [&](const KindPtr& one) {
      return one->resource.version == kind->resource.version;
    });
    if (is_ours) continue;
    auto more = std::make_shared<Kind>(*kind);
    more->storage.version = kinds.storage->storage.version;
    more->storage.conversion = nullptr;
    more->platform = true;
    kinds.kinds.push_back(std::move(more));
  }
  return kinds;
}

std::vector<CustomKinds> PlatformCrds::beside(
    const std::function<bool(std::string_view)>& stored) const {
  std::vector<CustomKinds> found;
  for (const auto& [name, ours] : crds_)
    if (!stored(name)) found.push_back(ours.kinds);
  for (const auto& [name, kinds] : open_)
    if (!stored(name)) found.push_back(kinds);
  return found;
}

void PlatformCrds::plug_conversion(std::string_view name, CustomKinds& kinds) const {
  auto found = std::ranges::find(conversions_, name, &kube::Conversion::crd);
  if (found == conversions_.end()) return;
  for (KindPtr& kind : kinds.kinds) {
    auto plugged = std::make_shared<Kind>(*kind);
    plugged->storage.from_stored = [convert = found->convert, version = kind->resource.version](
                                       json::Value& object) { convert(object, version); };
    plugged->storage.to_stored = [convert = found->convert,
                                  version = kinds.storage->resource.version](json::Value& object) {
      convert(object, version);
    };
    if (kinds.storage == kind) kinds.storage = plugged;
    kind = std::move(plugged);
  }
}

kube::AdmissionStep platform_crd_admission(const PlatformCrds& platform) {
  const auto matches = [](const kube::Resource& resource, kube::Operation operation,
                          std::string_view subresource) {
    return resource.plural == "customresourcedefinitions" && subresource.empty() &&
           operation != kube::Operation::connect;
  };
  const auto mutate = [&platform](const kube::AdmissionRequest& request,
                                  json::Value& crd) -> Result<void> {
    const std::string name(meta_string(crd, "name"));
    if (request.operation == kube::Operation::remove || !platform.has(name)) return {};
    if (!platform.keep_ours(name, json::at_path(crd, {"spec"})) && request.warnings)
      request.warnings->push_back("CustomResourceDefinition " + name +
                                  " is built into Hekla; its schema stays");
    return {};
  };
  const auto validate = [&platform](const kube::AdmissionRequest& request,
                                    const json::Value&) -> Result<void> {
    if (request.operation != kube::Operation::remove || !platform.has(request.key.name)) return {};
    if (request.warnings)
      request.warnings->push_back(
          "CustomResourceDefinition " + request.key.name +
          " is built into Hekla and comes back; its objects stay. Delete them by kubectl delete " +
          request.key.name + " --all");
    return {};
  };
  return {"PlatformCustomResourceDefinition", matches, mutate, validate};
}

}  // namespace hekla::apiserver
