#include "apiserver/object/metadata.h"

#include <algorithm>

#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "model/formats.h"
#include "model/names.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

std::vector<std::string> name_errors(const Kind& kind, std::string_view name) {
  switch (kind.traits.name_rule) {
    case NameRule::label:
      return model::dns1123_label_errors(name);
    case NameRule::label_1035:
      return model::dns1035_label_errors(name);
    case NameRule::path_segment:
      return model::path_segment_errors(name);
    case NameRule::ip_address:
      return model::ip_errors(name);
    case NameRule::subdomain:
      break;
  }
  return model::dns1123_subdomain_errors(name);
}

void complain(std::vector<Cause>& causes, const std::string& field, std::string_view value,
              const std::vector<std::string>& errors) {
  for (const std::string& why : errors)
    causes.push_back(invalid_value(field, json::Value(value), why));
}

void validate_names(const Kind& kind, const json::Value& object, std::vector<Cause>& causes) {
  std::string_view name = meta_string(object, "name");
  std::string_view prefix = meta_string(object, "generateName");
  if (!prefix.empty()) {
    // The dash a prefix usually ends in is legal only because something follows it.
    std::string probe(prefix);
    if (probe.back() == '-') probe += 'x';
    complain(causes, "metadata.generateName", prefix, name_errors(kind, probe));
  }
  if (name.empty()) {
    causes.push_back(required_value("metadata.name", "name or generateName is required"));
  } else {
    complain(causes, "metadata.name", name, name_errors(kind, name));
  }
  std::string_view ns = meta_string(object, "namespace");
  if (kind.resource.namespaced) {
    if (ns.empty())
      causes.push_back(required_value("metadata.namespace"));
    else
      complain(causes, "metadata.namespace", ns, model::dns1123_label_errors(ns));
  }
}

void validate_labels(const json::Value& object, std::vector<Cause>& causes) {
  if (const json::Object* labels = json::object_at(object, {"metadata", "labels"})) {
    for (const auto& member : *labels) {
      complain(causes, "metadata.labels", member.key(), model::qualified_name_errors(member.key()));
      std::string_view value =
          member.value().is_string() ? json::sv(member.value().get_string()) : std::string_view();
      complain(causes, "metadata.labels", value, model::label_value_errors(value));
    }
  }
  if (const json::Object* annotations = json::object_at(object, {"metadata", "annotations"})) {
    std::size_t bytes = 0;
    for (const auto& member : *annotations) {
      std::string key(member.key());
      std::transform(key.begin(), key.end(), key.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      complain(causes, "metadata.annotations", member.key(), model::qualified_name_errors(key));
      bytes += member.key().size();
      if (member.value().is_string()) bytes += member.value().get_string().size();
    }
    if (bytes > kMaxAnnotationBytes)
      causes.push_back(too_long("metadata.annotations", kMaxAnnotationBytes));
  }
}

void validate_owners(const json::Value& object, std::vector<Cause>& causes) {
  const json::Array* owners = json::array_at(object, {"metadata", "ownerReferences"});
  if (!owners) return;
  std::string controller;
  for (const json::Value& owner : *owners) {
    const std::string path = "metadata.ownerReferences";
    for (std::string_view member : {"apiVersion", "kind", "name", "uid"})
      if (json::string_at(owner, {member}).empty())
        causes.push_back(invalid_value(
            path + "." + std::string(member), json::Value(""),
            member == "apiVersion" ? "version must not be empty" : "must not be empty"));
    if (!json::bool_at(owner, {"controller"})) continue;
    std::string name(json::string_at(owner, {"name"}));
    if (!controller.empty()) {
      causes.push_back(invalid_value(
          path, json::Value(*owners),
          "Only one reference can have Controller set to true. Found \"true\" in references for " +
              controller + " and " + name));
      return;
    }
    controller = name;
  }
}

void validate_finalizers(const json::Value& object, std::vector<Cause>& causes) {
  std::vector<std::string> finalizers = finalizers_of(object);
  bool orphan = false, foreground = false;
  for (const std::string& one : finalizers) {
    complain(causes, "metadata.finalizers", one, model::qualified_name_errors(one));
    orphan |= one == "orphan";
    foreground |= one == "foregroundDeletion";
  }
  if (orphan && foreground)
    causes.push_back(invalid_value(
        "metadata.finalizers",
        json::Value(json::serialize(*json::find_path(object, {"metadata", "finalizers"}))),
        "finalizer orphan and foregroundDeletion cannot be both set"));
}

// Built-in kinds alone hold finalizers without a domain to a list of known ones.
void validate_standard_finalizers(const json::Value& object, std::vector<Cause>& causes) {
  std::size_t index = 0;
  for (const std::string& one : finalizers_of(object)) {
    const bool standard = one == "kubernetes" || one == "orphan" || one == "foregroundDeletion";
    if (!standard && one.find('/') == std::string::npos)
      causes.push_back(
          invalid_value("metadata.finalizers[" + std::to_string(index) + "]", json::Value(one),
                        "name is neither a standard finalizer name nor is it fully qualified"));
    ++index;
  }
}

void keep(json::Object& now, const json::Object* before, std::string_view member) {
  const json::Value* value = before ? json::find(*before, member) : nullptr;
  if (value)
    now[member] = *value;
  else
    now.erase(member);
}

}  // namespace

json::Object& metadata_of(json::Value& object) {
  json::Value& metadata = json::at_path(object, {"metadata"});
  if (!metadata.is_object()) metadata.emplace_object();
  return metadata.get_object();
}

std::string_view meta_string(const json::Value& object, std::string_view member) {
  return json::string_at(object, {"metadata", member});
}

void stamp_created(const Kind& kind, json::Value& object, WallTime now, Rng& rng) {
  json::Object& meta = metadata_of(object);
  for (std::string_view member : {"selfLink", "resourceVersion", "deletionTimestamp",
                                  "deletionGracePeriodSeconds", "generation"})
    meta.erase(member);
  meta["uid"] = uuid(rng);
  meta["creationTimestamp"] = model::format_rfc3339(now);
  if (kind.traits.has_generation && kind.traits.first_generation) meta["generation"] = 1;
}

void generate_name(json::Value& object, Rng& rng) {
  std::string_view prefix = meta_string(object, "generateName");
  if (prefix.empty() || !meta_string(object, "name").empty()) return;
  std::string name(prefix.substr(0, 58));
  name += name_suffix(rng, 5);
  metadata_of(object)["name"] = std::move(name);
}

void keep_server_fields(json::Value& object, const json::Value& old) {
  json::Object& meta = metadata_of(object);
  const json::Object* before = json::object_at(old, {"metadata"});
  for (std::string_view member :
       {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
    keep(meta, before, member);
  if (meta_string(object, "uid").empty()) keep(meta, before, "uid");
  meta.erase("selfLink");
  if (!json::find(meta, "generateName")) keep(meta, before, "generateName");
}

std::vector<Cause> validate_metadata(const Kind& kind, const json::Value& object) {
  std::vector<Cause> causes;
  validate_names(kind, object, causes);
  validate_labels(object, causes);
  validate_owners(object, causes);
  validate_finalizers(object, causes);
  if (kind.traits.known_finalizers) validate_standard_finalizers(object, causes);
  return causes;
}

std::vector<Cause> validate_metadata_update(const json::Value& object, const json::Value& old) {
  std::vector<Cause> causes;
  std::string_view uid = meta_string(object, "uid");
  if (uid != meta_string(old, "uid"))
    causes.push_back(invalid_value("metadata.uid", json::Value(uid), "field is immutable"));
  const json::Value* deleting = json::find_path(old, {"metadata", "deletionTimestamp"});
  if (!deleting || deleting->is_null()) return causes;
  std::vector<std::string> before = finalizers_of(old);
  std::string added;
  for (const std::string& one : finalizers_of(object))
    if (std::find(before.begin(), before.end(), one) == before.end())
      added += (added.empty() ? "" : ", ") + go_quote(one);
  if (!added.empty())
    causes.push_back(
        forbidden_value("metadata.finalizers",
                        "no new finalizers can be added if the object is being deleted, "
                        "found new finalizers []string{" +
                            added + "}"));
  return causes;
}

std::vector<std::string> finalizers_of(const json::Value& object) {
  std::vector<std::string> found;
  if (const json::Array* all = json::array_at(object, {"metadata", "finalizers"}))
    for (const json::Value& one : *all)
      if (one.is_string()) found.emplace_back(json::sv(one.get_string()));
  return found;
}

void set_finalizers(json::Value& object, const std::vector<std::string>& finalizers) {
  json::Object& meta = metadata_of(object);
  if (finalizers.empty()) {
    meta.erase("finalizers");
    return;
  }
  json::Array array;
  for (const std::string& one : finalizers) array.emplace_back(one);
  meta["finalizers"] = std::move(array);
}

}  // namespace hekla::apiserver
