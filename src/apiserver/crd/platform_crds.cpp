#include "apiserver/crd/platform_crds.h"

#include <algorithm>

#include "apiserver/crd/crd.h"
#include "apiserver/object/metadata.h"
#include "apiserver/schema/facts.h"
#include "apiserver/schema/rules.h"
#include "net/text.h"

namespace hekla::apiserver {

namespace {

void add_missing(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& one : from)
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
}

// Our columns follow theirs unless a column of that name is already there.
void add_columns(Kind& kind, const Kind& ours) {
  std::vector<std::size_t> extra;
  for (std::size_t i = 0; i < ours.printing.columns.size(); ++i) {
    const bool there = std::any_of(
        kind.printing.columns.begin(), kind.printing.columns.end(), [&](const Column& one) {
          return net::equal_ignoring_case(one.name, ours.printing.columns[i].name);
        });
    if (there) continue;
    extra.push_back(i);
    kind.printing.columns.push_back(ours.printing.columns[i]);
  }
  if (extra.empty()) return;
  kind.printing.cells = [theirs = kind.printing.cells, more = ours.printing.cells, extra](
                            const json::Value& object, WallTime now) {
    json::Array cells = theirs(object, now);
    json::Array added = more(object, now);
    for (std::size_t i : extra) cells.push_back(std::move(added[i]));
    return cells;
  };
}

KindPtr union_of_kinds(const Kind& installed, const Kind& ours) {
  auto kind = std::make_shared<Kind>(installed);
  add_missing(kind->short_names, ours.short_names);
  add_missing(kind->categories, ours.categories);
  kind->traits.has_status |= ours.traits.has_status;
  kind->platform = true;
  if (kind->scale.spec_path.empty()) {
    kind->scale.spec_path = ours.scale.spec_path;
    kind->scale.status_path = ours.scale.status_path;
    kind->scale.selector_path = ours.scale.selector_path;
  }
  for (const auto& [field, value] : ours.selectable) kind->selectable.try_emplace(field, value);
  kind->schema = kind->schema && ours.schema ? union_of(kind->schema, ours.schema) : ours.schema;
  kind->has_rules = kind->schema && has_rules(*kind->schema);
  add_columns(*kind, ours);
  return kind;
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

SchemaPtr union_of(const SchemaPtr& installed, const SchemaPtr& ours) {
  if (!installed || !ours) return installed ? installed : ours;
  if (!ours->go_type.empty() || installed->type != ours->type) return ours;
  auto made = std::make_shared<Schema>(*installed);
  made->preserve_unknown |= ours->preserve_unknown;
  made->nullable |= ours->nullable;
  for (const auto& [name, member] : ours->properties) {
    SchemaPtr& there = made->properties[name];
    there = union_of(there, member);
  }
  made->items = union_of(made->items, ours->items);
  // A map and a struct do not mix: one that names its members stays as it is.
  if (made->properties.empty()) made->additional = union_of(made->additional, ours->additional);
  if (made->enumeration.empty() || ours->enumeration.empty()) {
    made->enumeration.clear();
  } else {
    for (const json::Value& value : ours->enumeration)
      if (std::none_of(made->enumeration.begin(), made->enumeration.end(),
                       [&](const json::Value& one) { return json::equal(one, value); }))
        made->enumeration.push_back(value);
  }
  return made;
}

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

Result<PlatformCrds> PlatformCrds::of(const std::vector<json::Value>& crds,
                                      std::span<const kube::Conversion> conversions) {
  PlatformCrds made;
  made.conversions_.assign(conversions.begin(), conversions.end());
  for (const json::Value& crd : crds) {
    CustomKinds kinds = TRY(kinds_of_crd(crd));
    for (KindPtr& kind : kinds.kinds) {
      auto templated = std::make_shared<Kind>(*kind);
      templated->schema = with_pod_templates(kind->schema);
      templated->platform = true;
      kind = std::move(templated);
    }
    made.crds_.emplace(meta_string(crd, "name"), std::move(kinds));
  }
  return made;
}

CustomKinds PlatformCrds::completed(std::string_view name, CustomKinds installed) const {
  auto ours = crds_.find(name);
  if (ours == crds_.end()) return installed;
  for (const KindPtr& kind : ours->second.kinds) {
    auto same = std::find_if(
        installed.kinds.begin(), installed.kinds.end(),
        [&](const KindPtr& one) { return one->resource.version == kind->resource.version; });
    if (same != installed.kinds.end()) {
      KindPtr both = union_of_kinds(**same, *kind);
      if (installed.storage == *same) installed.storage = both;
      *same = std::move(both);
      continue;
    }
    auto kept = std::make_shared<Kind>(*kind);
    kept->storage.version = installed.storage->storage.version;
    installed.kinds.push_back(std::move(kept));
  }
  plug_conversion(name, installed);
  return installed;
}

// A CRD whose objects a webhook converts is left to it, except for the versions that only we serve.
void PlatformCrds::plug_conversion(std::string_view name, CustomKinds& kinds) const {
  auto found = std::ranges::find(conversions_, name, &kube::Conversion::crd);
  if (found == conversions_.end()) return;
  for (KindPtr& kind : kinds.kinds) {
    if (kind->storage.conversion) continue;
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

}  // namespace hekla::apiserver
