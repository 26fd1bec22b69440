#include "apiserver/write/match_request.h"

#include <algorithm>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/unstored.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {

namespace {

bool is_known_kind(std::string_view kind, std::string_view version) {
  auto is_it = [&](const KindPtr& one) {
    return one->resource.kind == kind && one->resource.api_version() == version;
  };
  return std::any_of(builtin_kinds().begin(), builtin_kinds().end(), is_it) ||
         std::any_of(virtual_kinds().begin(), virtual_kinds().end(), is_it);
}

// Upstream reads the body as what it says it is, and only then notices: `converting (v1.Binding) to
// (core.ConfigMap)`.
std::string other_builtin(const kube::Resource& wanted, const std::string& kind,
                          const std::string& version) {
  const std::string short_version = version.substr(version.find('/') + 1);
  const std::string group = wanted.group.substr(0, wanted.group.find('.'));
  const bool core = group.empty() || group == "events";
  return kind + " in version \"" + short_version + "\" cannot be handled as a " + wanted.kind +
         ": converting (" + short_version + "." + kind + ") to (" + (core ? "core" : group) + "." +
         wanted.kind + "): unknown conversion";
}

// Why a body of another kind or version is not taken.
std::string other_kind(const Kind& kind, std::string_view body_kind,
                       std::string_view body_version) {
  const kube::Resource& r = kind.resource;
  const std::string given_kind(body_kind.empty() ? r.kind : body_kind);
  const std::string given_version(body_version.empty() ? r.api_version() : body_version);
  if (kind.custom)
    return "the API version in the data (" + given_version +
           ") does not match the expected API version (" + r.api_version() + ")";
  if (r.group != "apiextensions.k8s.io" && is_known_kind(given_kind, given_version))
    return other_builtin(r, given_kind, given_version);
  return given_kind + " in version \"" + given_version.substr(given_version.find('/') + 1) +
         "\" cannot be handled as a " + r.kind + ": no kind \"" + given_kind +
         "\" is registered for version \"" + given_version + "\"";
}

}  // namespace

Result<void> match_request(const Kind& kind, const kube::Key& key, json::Value& object) {
  const kube::Resource& r = kind.resource;
  if (!object.is_object())
    return fail(Code::bad_request,
                "the object provided is unrecognized (must be of type " + r.kind +
                    "): couldn't get version/kind; json parse error: expected an object");
  std::string_view body_kind = json::string_at(object, {"kind"});
  std::string_view body_version = json::string_at(object, {"apiVersion"});
  if (kind.custom && body_version == r.api_version() && !body_kind.empty() && body_kind != r.kind) {
    kube::Resource given = r;
    given.kind = body_kind;
    return std::unexpected(
        invalid_object(given, std::string(meta_string(object, "name")),
                       {invalid_value("kind", json::Value(body_kind), "must be " + r.kind)}));
  }
  if ((!body_kind.empty() && body_kind != r.kind) ||
      (!body_version.empty() && body_version != r.api_version()))
    return fail(Code::bad_request, other_kind(kind, body_kind, body_version));
  if (body_version.empty()) object.get_object()["apiVersion"] = r.api_version();
  if (body_kind.empty()) object.get_object()["kind"] = r.kind;
  const json::Value* metadata = json::find(object, "metadata");
  if (metadata && !metadata->is_object() && !metadata->is_null())
    return fail(Code::bad_request, r.kind + " in version \"" + r.version +
                                       "\" cannot be handled as a " + r.kind +
                                       ": metadata must be an object");
  json::Object& meta = metadata_of(object);
  std::string_view ns = meta_string(object, "namespace");
  if (!r.namespaced) {
    meta.erase("namespace");  // upstream does not mind either
  } else if (ns.empty()) {
    meta["namespace"] = key.ns;
  } else if (ns != key.ns) {
    return fail(Code::bad_request,
                "the namespace of the provided object does not match the namespace "
                "sent on the request");
  }
  if (!key.name.empty()) {
    std::string_view name = meta_string(object, "name");
    if (name.empty())
      meta["name"] = key.name;
    else if (name != key.name)
      return fail(Code::bad_request, "the name of the object (" + std::string(name) +
                                         ") does not match the name on the URL (" + key.name + ")");
  }
  return {};
}

}  // namespace hekla::apiserver
