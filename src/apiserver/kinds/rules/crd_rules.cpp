#include "apiserver/kinds/rules/crd_rules.h"

#include <algorithm>
#include <set>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/rules/crd_version_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/field_error.h"
#include "model/names.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Sets one of status.conditions; the time moves only when the status does.
void set_condition(json::Value& crd, std::string_view type, bool holds, std::string_view reason,
                   std::string_view message, WallTime now) {
  json::Value& list = json::at_path(crd, {"status", "conditions"});
  if (!list.is_array()) list.emplace_array();
  json::Object wanted;
  wanted.emplace("lastTransitionTime", model::format_rfc3339(now));
  wanted.emplace("message", message);
  wanted.emplace("reason", reason);
  wanted.emplace("status", holds ? "True" : "False");
  wanted.emplace("type", type);
  for (json::Value& one : list.get_array()) {
    if (json::string_at(one, {"type"}) != type) continue;
    if (json::string_at(one, {"status"}) == (holds ? "True" : "False"))
      wanted["lastTransitionTime"] = *json::find(one, "lastTransitionTime");
    one = std::move(wanted);
    return;
  }
  list.get_array().push_back(std::move(wanted));
}

bool condition_holds(const json::Value& crd, std::string_view type) {
  const json::Array* conditions = json::array_at(crd, {"status", "conditions"});
  return conditions &&
         std::any_of(conditions->begin(), conditions->end(), [&](const json::Value& one) {
           return json::string_at(one, {"type"}) == type &&
                  json::string_at(one, {"status"}) == "True";
         });
}

// Another CRD's name that this one also wants within the group, or empty.
std::string taken_name(const json::Value& crd, const Catalog& catalog) {
  std::string_view group = json::string_at(crd, {"spec", "group"});
  std::string_view plural = json::string_at(crd, {"spec", "names", "plural"});
  std::set<std::string> names{std::string(json::string_at(crd, {"spec", "names", "singular"}))};
  if (const json::Array* shorts = json::array_at(crd, {"spec", "names", "shortNames"}))
    for (const json::Value& one : *shorts)
      if (one.is_string()) names.insert(std::string(json::sv(one.get_string())));
  for (const ServedPtr& served : catalog.all()) {
    const Kind& other = *served->kind;
    if (other.resource.group != group || other.resource.plural == plural) continue;
    if (other.resource.kind == json::string_at(crd, {"spec", "names", "kind"}))
      return other.resource.kind;
    if (names.contains(other.singular)) return other.singular;
    for (const std::string& one : other.short_names)
      if (names.contains(one)) return one;
  }
  return {};
}

void validate_versions(const json::Value& crd, std::vector<Cause>& causes) {
  const json::Array* versions = json::array_at(crd, {"spec", "versions"});
  if (!versions || versions->empty()) {
    causes.push_back(required_value("spec.versions"));
    return;
  }
  std::set<std::string_view> seen;
  int storage = 0;
  for (std::size_t i = 0; i < versions->size(); ++i) {
    const json::Value& version = (*versions)[i];
    const std::string path = "spec.versions[" + std::to_string(i) + "]";
    std::string_view name = json::string_at(version, {"name"});
    for (const std::string& why : model::dns1035_label_errors(name))
      causes.push_back(invalid_value(path + ".name", json::Value(name), why));
    if (!seen.insert(name).second)
      causes.push_back(duplicate_value(path + ".name", json::Value(name)));
    storage += json::bool_at(version, {"storage"});
    const json::Value* schema = json::find_path(version, {"schema", "openAPIV3Schema"});
    if (!schema) {
      causes.push_back(required_value(path + ".schema.openAPIV3Schema", "schemas are required"));
      continue;
    }
    Result<SchemaPtr> parsed = schema_from_openapi(*schema);
    validate_crd_version(path, version, parsed ? parsed->get() : nullptr, causes);
    if (parsed) continue;
    if (parsed.error().details.causes.empty()) {
      causes.push_back(invalid_value(path + ".schema.openAPIV3Schema", json::Value("schema"),
                                     parsed.error().message));
    }
    for (const Cause& one : parsed.error().details.causes) {
      std::string field = path + ".schema.openAPIV3Schema";
      if (!one.field.empty()) field += (one.field.front() == '[' ? "" : ".") + one.field;
      causes.push_back({one.reason, one.message, std::move(field)});
    }
  }
  if (storage != 1)
    causes.push_back(invalid_value("spec.versions", json::Value(json::serialize(*versions)),
                                   "must have exactly one version marked as storage version"));
}

void validate_review_versions(const json::Array* versions, std::vector<Cause>& causes) {
  const std::string path = "spec.conversion.conversionReviewVersions";
  if (!versions || versions->empty()) {
    causes.push_back(required_value(path));
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < versions->size(); ++i) {
    const json::Value& version = (*versions)[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    const std::string_view name = version.is_string() ? json::sv(version.get_string()) : "";
    if (!seen.insert(name).second) {
      causes.push_back(invalid_value(at, version, "duplicate version"));
      continue;
    }
    for (const std::string& why : model::dns1035_label_errors(name))
      causes.push_back(invalid_value(at, version, why));
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1"))
    causes.push_back(
        invalid_value(path, json::Value(*versions), "must include at least one of v1, v1beta1"));
}

// The paths are those of the internal version, which upstream shows.
void validate_conversion(const json::Value& crd, std::vector<Cause>& causes) {
  const std::string path = "spec.conversion", client_path = path + ".webhookClientConfig";
  const std::string_view strategy = json::string_at(crd, {"spec", "conversion", "strategy"});
  const json::Value* client =
      json::find_path(crd, {"spec", "conversion", "webhook", "clientConfig"});
  const json::Array* versions =
      json::array_at(crd, {"spec", "conversion", "webhook", "conversionReviewVersions"});
  if (strategy.empty())
    causes.push_back(required_value(path + ".strategy"));
  else if (strategy != "None" && strategy != "Webhook")
    causes.push_back(
        unsupported_value(path + ".strategy", json::Value(strategy), {"None", "Webhook"}));
  if (strategy != "Webhook") {
    if (client)
      causes.push_back(
          forbidden_value(client_path, "should not be set when strategy is not set to Webhook"));
    if (versions && !versions->empty())
      causes.push_back(forbidden_value(path + ".conversionReviewVersions",
                                       "should not be set when strategy is not set to Webhook"));
    return;
  }
  if (!client) {
    causes.push_back(required_value(client_path, "required when strategy is set to Webhook"));
  } else {
    Rules rules;
    rules.webhook_client(Field(*client, client_path));
    std::move(rules.causes.begin(), rules.causes.end(), std::back_inserter(causes));
  }
  validate_review_versions(versions, causes);
}

// A version may go only when no object is kept in it.
void validate_stored_versions(const json::Value& crd, const Catalog& catalog,
                              std::vector<Cause>& causes) {
  const json::Array* stored = json::array_at(crd, {"status", "storedVersions"});
  const json::Array* versions = json::array_at(crd, {"spec", "versions"});
  if (!versions) return;
  if (!stored || stored->empty()) {
    causes.push_back(invalid_value("status.storedVersions", json::Value(json::Array()),
                                   "must have at least one stored version"));
    return;
  }
  auto names = [&](const json::Value& version, const json::Value& name) {
    return json::find(version, "name") && *json::find(version, "name") == name;
  };
  for (const json::Value& version : *versions)
    if (json::bool_at(version, {"storage"}) &&
        std::none_of(stored->begin(), stored->end(),
                     [&](const json::Value& one) { return names(version, one); }))
      causes.push_back(invalid_value(
          "status.storedVersions", json::Value(*stored),
          "must have the storage version " + std::string(json::string_at(version, {"name"}))));
  for (std::size_t i = 0; i < stored->size(); ++i) {
    const json::Value& one = (*stored)[i];
    if (std::any_of(versions->begin(), versions->end(),
                    [&](const json::Value& version) { return names(version, one); }))
      continue;
    const std::string name(one.is_string() ? json::sv(one.get_string()) : "");
    // Versions of the platform's own CRDs stay, whichever edition is installed.
    const ServedPtr served = catalog.find(json::string_at(crd, {"spec", "group"}), name,
                                          json::string_at(crd, {"spec", "names", "plural"}));
    if (served && served->kind->platform) continue;
    causes.push_back(invalid_value(
        "status.storedVersions[" + std::to_string(i) + "]", one,
        "missing from spec.versions; " + name +
            " was previously a storage version, and must remain in spec.versions until a "
            "storage migration ensures no data remains persisted in " +
            name + " and removes " + name + " from status.storedVersions"));
  }
}

void validate_approval(const json::Value& crd, std::vector<Cause>& causes) {
  std::string_view group = json::string_at(crd, {"spec", "group"});
  const bool is_protected = group.ends_with(".k8s.io") || group == "k8s.io" ||
                            group.ends_with(".kubernetes.io") || group == "kubernetes.io";
  if (!is_protected) return;
  const std::string_view annotation = "api-approved.kubernetes.io";
  if (json::string_at(crd, {"metadata", "annotations", annotation}).empty())
    causes.push_back(required_value("metadata.annotations[api-approved.kubernetes.io]",
                                    "protected groups must have approval annotation "
                                    "\"api-approved.kubernetes.io\", see "
                                    "https://github.com/kubernetes/enhancements/pull/1111"));
}

void validate_immutable(const json::Value& crd, const json::Value& old,
                        std::vector<Cause>& causes) {
  static const json::Value kNone;
  auto same = [&](std::initializer_list<std::string_view> path, const char* field) {
    const json::Value *now = json::find_path(crd, path), *before = json::find_path(old, path);
    if (!json::equal(now ? *now : kNone, before ? *before : kNone))
      causes.push_back(invalid_value(field, now ? *now : kNone, "field is immutable"));
  };
  same({"spec", "group"}, "spec.group");
  same({"spec", "names", "plural"}, "spec.names.plural");
  if (!condition_holds(old, "Established")) return;
  same({"spec", "scope"}, "spec.scope");
  same({"spec", "names", "kind"}, "spec.names.kind");
}

}  // namespace

json::Value accept_crd(json::Value& crd, const Catalog& catalog, WallTime now) {
  json::Value written = crd;
  std::string taken = taken_name(crd, catalog);
  if (taken.empty()) {
    set_condition(crd, "NamesAccepted", true, "NoConflicts", "no conflicts found", now);
    if (!condition_holds(crd, "Established"))
      set_condition(crd, "Established", true, "InitialNamesAccepted",
                    "the initial names have been accepted", now);
  } else {
    set_condition(crd, "NamesAccepted", false, "NamesConflict",
                  "\"" + taken + "\" is already in use", now);
    if (!condition_holds(crd, "Established"))
      set_condition(crd, "Established", false, "NotAccepted", "not all names are accepted", now);
  }
  if (const json::Value* names = json::find_path(crd, {"spec", "names"}); names && taken.empty())
    json::at_path(crd, {"status", "acceptedNames"}) = *names;
  else if (!json::find_path(crd, {"status", "acceptedNames"}))
    json::at_path(crd, {"status", "acceptedNames"}) = json::Object{{"kind", ""}, {"plural", ""}};
  json::Value& stored = json::at_path(crd, {"status", "storedVersions"});
  if (!stored.is_array()) stored.emplace_array();
  if (const json::Array* versions = json::array_at(crd, {"spec", "versions"}))
    for (const json::Value& version : *versions) {
      const json::Value* name = json::find(version, "name");
      json::Array& list = stored.get_array();
      if (json::bool_at(version, {"storage"}) && name &&
          std::find(list.begin(), list.end(), *name) == list.end())
        list.push_back(*name);
    }
  json::at_path(written, {"status", "storedVersions"}) = stored;
  return written;
}

std::vector<Cause> validate_crd(const json::Value& crd, const json::Value* old,
                                const Catalog& catalog) {
  std::vector<Cause> causes;
  std::string group(json::string_at(crd, {"spec", "group"}));
  std::string plural(json::string_at(crd, {"spec", "names", "plural"}));
  std::string_view name = meta_string(crd, "name");
  if (!name.empty() && name != plural + "." + group)
    causes.push_back(invalid_value("metadata.name", json::Value(name),
                                   "must be spec.names.plural+\".\"+spec.group"));
  // Its objects would lie among the built-in ones, and go with the definition.
  for (const KindPtr& kind : builtin_kinds())
    if (!old && kind->resource.group == group && kind->resource.plural == plural) {
      causes.push_back(forbidden_value("spec.names.plural", "the resource is built in"));
      break;
    }
  if (group.empty()) {
    causes.push_back(required_value("spec.group"));
  } else if (group.find('.') == std::string::npos) {
    causes.push_back(invalid_value("spec.group", json::Value(group),
                                   "should be a domain with at least one dot"));
  } else {
    for (const std::string& why : model::dns1123_subdomain_errors(group))
      causes.push_back(invalid_value("spec.group", json::Value(group), why));
  }
  std::string_view scope = json::string_at(crd, {"spec", "scope"});
  if (scope.empty())
    causes.push_back(required_value("spec.scope"));
  else if (scope != "Namespaced" && scope != "Cluster")
    causes.push_back(
        unsupported_value("spec.scope", json::Value(scope), {"Cluster", "Namespaced"}));
  for (std::string_view member : {"plural", "singular", "kind", "listKind"}) {
    std::string_view value = json::string_at(crd, {"spec", "names", member});
    const std::string path = "spec.names." + std::string(member);
    if (value.empty()) {
      causes.push_back(required_value(path));
    } else {
      for (const std::string& why : model::dns1035_label_errors(lower(value)))
        causes.push_back(invalid_value(path, json::Value(value), why));
    }
  }
  if (json::bool_at(crd, {"spec", "preserveUnknownFields"}))
    causes.push_back(
        invalid_value("spec.preserveUnknownFields", json::Value(true), "must be false"));
  validate_versions(crd, causes);
  validate_conversion(crd, causes);
  validate_stored_versions(crd, catalog, causes);
  if (old)
    validate_immutable(crd, *old, causes);
  else
    validate_approval(crd, causes);
  return causes;
}

bool begin_crd_removal(json::Value& crd, WallTime now) {
  const json::Value* deleted = json::find_path(crd, {"metadata", "deletionTimestamp"});
  std::vector<std::string> finalizers = finalizers_of(crd);
  if (!deleted || deleted->is_null()) {
    if (std::find(finalizers.begin(), finalizers.end(), kCrdFinalizer) == finalizers.end())
      finalizers.emplace_back(kCrdFinalizer);
    set_finalizers(crd, finalizers);
    set_condition(
        crd, "Terminating", true, "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        now);
  }
  return !finalizers.empty();
}

}  // namespace hekla::apiserver
