// One served kind: names, schema, printed columns, and the rules
// that data cannot express. Built-in kinds are assembled in kinds/ (one file per group), custom
// ones in crd.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema/schema.h"
#include "base/clock.h"
#include "base/rng.h"
#include "json/node.h"
#include "kube/client.h"

namespace hekla::apiserver {

class Catalog;             // registry.h
struct WebhookConversion;  // crd/conversion.h

struct Column {
  std::string name, type = "string", format, description;
  int priority = 0;
};

// Arguments of preparation besides the object.
struct WriteContext {
  WallTime now;
  Rng* rng = nullptr;
  std::string subresource;
};

// The text of one field of an object, empty when it is missing.
using FieldOfObject = std::function<std::string(const json::Node& object)>;

// Warnings about a written object, which is accepted all the same; `old` is null for a new one.
using WarningsOfObject =
    std::function<std::vector<std::string>(const json::Value& object, const json::Value* old)>;

// The form of an object's name.
enum class NameRule : std::uint8_t { subdomain, label, label_1035, path_segment, ip_address };

// How the server treats objects of a kind without looking into them.
struct KindTraits {
  bool has_status =
      false;  // the status subresource: main writes keep the old status, and vice versa
  bool status_from_start = false;    // a new object brings its status (nodes)
  bool has_generation = true;        // metadata.generation counts changes of the spec
  bool first_generation = true;      // it is 1 from the start, not absent until a change
  std::string generation_metadata;   // a member of metadata whose changes count as well
  bool unconditional_update = true;  // PUT without resourceVersion is allowed
  bool create_on_update = false;     // PUT of a missing object creates it
  bool graceful_delete = false;      // pods
  bool staged_delete =
      false;  // DELETE only begins; a controller empties it first (namespaces, CRDs)
  bool returns_deleted = false;     // DELETE answers the object that went instead of a Status
  bool orphans_by_default = false;  // DELETE without a policy leaves the dependents alone
  std::string orphan_warning;       // said then
  std::vector<std::string>
      status_keeps;              // members of metadata that a write of /status leaves alone
  bool known_finalizers = true;  // a finalizer without a domain must be one of Kubernetes' own
  NameRule name_rule = NameRule::subdomain;
  std::string deprecation;       // the warning every answer about the kind carries
  bool holds_objects = false;    // a namespace: addressed below itself, kept by spec.finalizers
  bool brings_kinds = false;     // a CRD: the catalog follows each write
  bool takes_addresses = false;  // a service: cluster IPs and node ports are given to it
};

// How the objects of a kind are kept.
struct KindStorage {
  // Kinds served in several groups or versions share one (events).
  std::string bucket;   // "pods", "events", "jobs.batch.volcano.sh"
  std::string version;  // apiVersion written to the store
  // For a kind whose shape differs from the stored one (events.k8s.io, versions of platform CRDs):
  // rewrites the members in place; apiVersion is the caller's business. Empty where the shapes are
  // the same.
  std::function<void(json::Value& object)> from_stored, to_stored;
  // Of a custom resource whose versions a webhook converts; null otherwise.
  std::shared_ptr<const WebhookConversion> conversion;
};

// The rows of a kind in tables.
struct KindPrinting {
  std::vector<Column> columns;  // without the leading Name, unless `names_itself`
  bool names_itself = false;    // columns and cells hold the name, where the kind wants it (events)
  // One cell per column; the Name cell is added by the caller.
  std::function<json::Array(const json::Value& object, WallTime now)> cells;
};

// Rules in code; any may be empty.
struct KindRules {
  std::function<void(json::Value& object)> set_defaults;  // on every write after decoding
  std::function<void(json::Value& object, const WriteContext&)> prepare_create;
  std::function<void(json::Value& object, const json::Value& old, const WriteContext&)>
      prepare_update;
  // Fills in the server's own part of the status, which depends on the other kinds; gives back what
  // the writer alone is answerable for.
  json::Value (*accept)(json::Value& object, const Catalog& catalog, WallTime now) = nullptr;

  using Complaints = std::vector<Cause>;
  std::function<Complaints(const json::Value& object)> validate;
  std::function<Complaints(const json::Value& object)> validate_create;  // of a new object alone
  std::function<Complaints(const json::Value& object, const json::Value& old)> validate_update;
  // By whichever subresource the change comes, also where `validate_update` is not asked.
  Complaints (*validate_change)(const json::Value& object, const json::Value& old,
                                std::string_view subresource) = nullptr;
  Complaints (*validate_status)(const kube::Resource& resource, const json::Value& object,
                                const json::Value& old) = nullptr;
  // Beside the other kinds; `old` is null for a new object.
  Complaints (*validate_among)(const json::Value& object, const json::Value* old,
                               const Catalog& catalog) = nullptr;
  WarningsOfObject warnings;  // of what passed them all

  // Marks an object that is to go; true when something still keeps it.
  bool (*begin_removal)(json::Value& object, WallTime now) = nullptr;
};

// An endpoint below the object itself.
struct Subresource {
  std::string name;
  std::string group, version, kind;  // of what is sent or returned
  std::vector<std::string> verbs;

  enum class Form : std::uint8_t {
    object,   // the object, of which a part is written
    scale,    // a view of its replica counts
    binding,  // sent to bind or evict a pod, or to ask for a token
    eviction,
    token,
    log,     // answered by the node agent
    stream,  // leaves HTTP behind
    proxy,   // carried on
  };
  Form form = Form::object;

  // Rules of a part of the object; any may be null.
  void (*isolate)(json::Value& object,
                  const json::Value& old) = nullptr;  // keeps the rest of `old`
  std::vector<Cause> (*validate)(const json::Value& object,
                                 const json::Value& old) =
      nullptr;                                      // for the kind's validate_update
  json::Value (*read)(json::Value body) = nullptr;  // the object that a body of another kind means
  // The answer to a client that wants another kind than the object's; nothing: the object itself.
  std::optional<json::Value> (*show)(const json::Value& object,
                                     std::string_view user_agent) = nullptr;
  // PUT replaces a part and nothing else: `old` with that part of `sent`.
  json::Value (*replace)(const json::Value& sent, const json::Value& old) = nullptr;
};

// The scale subresource: JSON paths as in a CRD, ".spec.replicas"; empty without scale.
struct ScalePaths {
  std::string spec_path, status_path;
  std::string selector_path;    // of custom resources alone
  bool plain_selector = false;  // spec.selector is a map of labels
};

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
  // Field selectors besides metadata.name and metadata.namespace: label -> value of an object.
  std::map<std::string, FieldOfObject> selectable;
  bool label_error_names_kind = false;  // the refusal of another field names the kind

  KindTraits traits;
  KindStorage storage;
  KindPrinting printing;
  KindRules rules;
  ScalePaths scale;
  std::vector<Subresource> subresources;  // besides status and scale; see subresources_of()
};
using KindPtr = std::shared_ptr<const Kind>;

}  // namespace hekla::apiserver
