// What the API server knows about one served kind: names, schema, printed columns, and the rules
// that data cannot express. Built-in kinds are assembled in kinds/ (one file per group), custom
// ones in crd.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/schema.h"
#include "base/clock.h"
#include "base/rng.h"
#include "json/node.h"
#include "kube/client.h"

namespace hekla::apiserver {

struct WebhookConversion;  // conversion.h

struct Column {
  std::string name, type = "string", format, description;
  int priority = 0;
};

// What defaulting and preparation may need besides the object.
struct WriteContext {
  WallTime now;
  Rng* rng = nullptr;
  std::string subresource;
};

// The text of one field of an object, empty when it is missing.
using FieldOfObject = std::function<std::string(const json::Node& object)>;

// What is odd about a written object, though it is accepted; `old` is null for a new one.
using WarningsOfObject =
    std::function<std::vector<std::string>(const json::Value& object, const json::Value* old)>;

// What may be the name of an object.
enum class NameRule : std::uint8_t { subdomain, label, label_1035, path_segment, ip_address };

struct Kind {
  kube::Resource resource;
  std::string singular, list_kind;
  std::vector<std::string> short_names, categories;
  std::vector<std::string> verbs{"create", "delete", "deletecollection", "get",
                                 "list",   "patch",  "update",           "watch"};
  SchemaPtr schema;
  bool has_rules = false;  // somewhere in the schema of a custom resource stand rules in CEL
  bool custom = false;     // from a CRD: keys sorted, items of lists carry kind and apiVersion
  bool platform = false;   // of a CRD that belongs to the platform: the version is always served
  bool has_status =
      false;  // the status subresource: main writes keep the old status, and vice versa
  bool has_generation = true;        // metadata.generation counts changes of the spec
  bool unconditional_update = true;  // PUT without resourceVersion is allowed
  bool create_on_update = false;     // PUT of a missing object creates it
  bool graceful_delete = false;      // pods
  bool staged_delete =
      false;  // DELETE only begins; a controller empties it first (namespaces, CRDs)
  bool returns_deleted = false;     // DELETE answers the object that went instead of a Status
  bool orphans_by_default = false;  // DELETE without a policy leaves the dependents alone
  std::string orphan_warning;       // said then
  bool first_generation =
      true;  // metadata.generation is 1 from the start, not absent until a change
  std::vector<std::string>
      status_keeps;              // members of metadata that a write of /status leaves alone
  bool known_finalizers = true;  // a finalizer without a domain must be one of Kubernetes' own
  NameRule name_rule = NameRule::subdomain;
  std::string deprecation;  // the warning every answer about the kind carries
  // scale subresource: JSON paths as in a CRD, ".spec.replicas"; empty without scale. The
  // selector's is of custom resources alone.
  std::string scale_spec_path, scale_status_path, scale_selector_path;
  // Where the objects are stored: kinds served in several groups or versions share one (events).
  std::string storage_bucket;   // "pods", "events", "jobs.batch.volcano.sh"
  std::string storage_version;  // apiVersion written to the store
  // For a kind whose shape differs from the stored one (events.k8s.io): rewrites the members in
  // place; apiVersion is the caller's business. Empty where the shapes are the same.
  std::function<void(json::Value& object)> from_storage, to_storage;
  // Of a custom resource whose versions a webhook converts; null otherwise.
  std::shared_ptr<const WebhookConversion> conversion;

  std::vector<Column> columns;  // without the leading Name, unless `names_itself`
  bool names_itself = false;    // columns and cells hold the name, where the kind wants it (events)
  // One cell per column; the Name cell is added by the caller.
  std::function<json::Array(const json::Value& object, WallTime now)> cells;

  // Field selectors besides metadata.name and metadata.namespace: label -> value of an object.
  std::map<std::string, FieldOfObject> selectable;
  bool label_error_names_kind = false;  // the refusal of another field names the kind

  // Rules in code; any may be empty. `set_defaults` runs on every write after pruning/decoding.
  std::function<void(json::Value& object)> set_defaults;
  std::function<void(json::Value& object, const WriteContext&)> prepare_create;
  std::function<void(json::Value& object, const json::Value& old, const WriteContext&)>
      prepare_update;
  std::function<std::vector<Cause>(const json::Value& object)> validate;
  std::function<std::vector<Cause>(const json::Value& object)>
      validate_create;  // what only a new object may not say
  std::function<std::vector<Cause>(const json::Value& object, const json::Value& old)>
      validate_update;
  WarningsOfObject warnings;  // of what passed them all
};
using KindPtr = std::shared_ptr<const Kind>;

}  // namespace hekla::apiserver
