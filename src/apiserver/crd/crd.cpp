#include "apiserver/crd/crd.h"

#include <algorithm>

#include "apiserver/crd/columns.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/object/storage.h"
#include "apiserver/schema/rules.h"
#include "base/log.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

std::vector<std::string> strings(const json::Array* array) {
  std::vector<std::string> out;
  if (array)
    for (const json::Value& one : *array)
      if (one.is_string()) out.emplace_back(json::sv(one.get_string()));
  return out;
}

// The warning about a deprecated version; empty for any other.
std::string deprecation_of(const json::Value& crd, const json::Value& version) {
  if (!json::bool_at(version, {"deprecated"})) return {};
  if (const json::Value* own = json::find(version, "deprecationWarning"); own && own->is_string())
    return std::string(json::sv(own->get_string()));
  const std::string group = json::text_at(crd, {"spec", "group"}),
                    kind = json::text_at(crd, {"spec", "names", "kind"});
  const std::string name = json::text_at(version, {"name"});
  std::string better;
  for (const json::Value& other : *json::array_at(crd, {"spec", "versions"})) {
    const std::string candidate = json::text_at(other, {"name"});
    if (json::bool_at(other, {"served"}) && !json::bool_at(other, {"deprecated"}) &&
        version_rank(candidate) > version_rank(better.empty() ? name : better))
      better = candidate;
  }
  return group + "/" + name + " " + kind + " is deprecated" +
         (better.empty() ? "" : "; use " + group + "/" + better + " " + kind);
}

Result<KindPtr> kind_of_version(const json::Value& crd, const json::Value& version,
                                const std::string& storage_version,
                                std::shared_ptr<const WebhookConversion> conversion) {
  auto kind = std::make_shared<Kind>();
  kind->storage.conversion = std::move(conversion);
  kube::Resource& r = kind->resource;
  r.group = json::text_at(crd, {"spec", "group"});
  r.version = json::text_at(version, {"name"});
  r.plural = json::text_at(crd, {"spec", "names", "plural"});
  r.kind = json::text_at(crd, {"spec", "names", "kind"});
  r.namespaced = json::string_at(crd, {"spec", "scope"}) == "Namespaced";
  kind->singular = json::text_at(crd, {"spec", "names", "singular"});
  kind->list_kind = json::text_at(crd, {"spec", "names", "listKind"});
  kind->short_names = strings(json::array_at(crd, {"spec", "names", "shortNames"}));
  kind->categories = strings(json::array_at(crd, {"spec", "names", "categories"}));
  kind->verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  kind->custom = true;
  kind->traits.deprecation = deprecation_of(crd, version);
  kind->traits.known_finalizers = false;
  kind->traits.unconditional_update = false;
  kind->traits.has_status = json::find_path(version, {"subresources", "status"}) != nullptr;
  kind->scale.spec_path = json::text_at(version, {"subresources", "scale", "specReplicasPath"});
  kind->scale.status_path = json::text_at(version, {"subresources", "scale", "statusReplicasPath"});
  kind->scale.selector_path =
      json::text_at(version, {"subresources", "scale", "labelSelectorPath"});
  kind->storage.bucket = r.plural + "." + r.group;
  kind->storage.version = r.group + "/" + storage_version;
  if (const json::Value* schema = json::find_path(version, {"schema", "openAPIV3Schema"}))
    kind->schema = TRY(schema_from_openapi(*schema));
  kind->has_rules = kind->schema && has_rules(*kind->schema);
  set_crd_columns(version, *kind);
  return kind;
}

}  // namespace

Result<CustomKinds> kinds_of_crd(const json::Value& crd) {
  CustomKinds custom;
  const json::Array* versions = json::array_at(crd, {"spec", "versions"});
  if (!versions) return fail(Code::invalid, "the CRD has no versions");
  std::string storage_version;
  for (const json::Value& version : *versions)
    if (json::bool_at(version, {"storage"})) storage_version = json::text_at(version, {"name"});
  const std::shared_ptr<const WebhookConversion> conversion = conversion_of_crd(crd);
  for (const json::Value& version : *versions) {
    const bool storage = json::bool_at(version, {"storage"});
    const bool served = json::bool_at(version, {"served"});
    if (!storage && !served) continue;
    KindPtr kind = TRY(kind_of_version(crd, version, storage_version, conversion));
    if (storage) custom.storage = kind;
    if (served) custom.kinds.push_back(std::move(kind));
  }
  if (!custom.storage) return fail(Code::invalid, "the CRD has no storage version");
  const json::Value* deleted = json::find_path(crd, {"metadata", "deletionTimestamp"});
  custom.terminating = deleted && !deleted->is_null();
  return custom;
}

}  // namespace hekla::apiserver
