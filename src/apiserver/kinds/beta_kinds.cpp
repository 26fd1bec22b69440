#include "apiserver/kinds/beta_kinds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/kinds/defaults.h"
#include "base/check.h"

namespace hekla::apiserver {
namespace {

// A selector without a condition chose no pods here; in v1 it chooses all, and none does so.
void budget_to_stored(json::Value& object) {
  const json::Object* selector = json::object_at(object, {"spec", "selector"});
  if (!selector) return;
  const bool chooses = std::ranges::any_of(*selector, [](const auto& member) {
    return (member.value().is_object() && !member.value().get_object().empty()) ||
           (member.value().is_array() && !member.value().get_array().empty());
  });
  if (!chooses) object.get_object()["spec"].get_object().erase("selector");
}

// Members that later versions insist on were optional, with other values for those left out.
void default_old_webhooks(json::Value& object) {
  for (json::Value& value : list_in(object.get_object(), "webhooks")) {
    if (!value.is_object()) continue;
    json::Object& webhook = value.get_object();
    set_default(webhook, "failurePolicy", "Ignore");
    set_default(webhook, "matchPolicy", "Exact");
    set_default(webhook, "timeoutSeconds", 30);
    set_default(webhook, "sideEffects", "Unknown");
    if (!webhook.contains("admissionReviewVersions"))
      webhook["admissionReviewVersions"] = json::Array{json::Value("v1beta1")};
  }
}

// The rules of v1, but for side effects that nobody could yet be asked to know.
std::vector<Cause> validate_old_webhooks(
    const json::Value& object,
    const std::function<std::vector<Cause>(const json::Value&)>& validate) {
  json::Value known = object;
  for (json::Value& value : list_in(known.get_object(), "webhooks"))
    if (value.is_object() && (json::string_at(value, {"sideEffects"}) == "Unknown" ||
                              json::string_at(value, {"sideEffects"}) == "Some"))
      value.get_object()["sideEffects"] = "None";
  return validate(known);
}

void make_old_webhooks(Kind& kind) {
  kind.rules.set_defaults = [later = kind.rules.set_defaults](json::Value& object) {
    default_old_webhooks(object);
    later(object);
  };
  kind.rules.validate = [later = kind.rules.validate](const json::Value& object) {
    return validate_old_webhooks(object, later);
  };
}

struct Beta {
  std::string_view group, plural, version, stored;  // stored: the version it is a face of
  std::string_view since, until;                    // deprecated, and gone, with which release
  void (*change)(Kind& kind) = nullptr;
};

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kAdmission = "admissionregistration.k8s.io";

constexpr std::array<Beta, 10> kBetas{{
    {"policy", "poddisruptionbudgets", "v1beta1", "v1", "v1.21", "v1.25",
     [](Kind& kind) { kind.storage.to_stored = budget_to_stored; }},
    {"autoscaling", "horizontalpodautoscalers", "v2beta2", "v2", "v1.23", "v1.26"},
    {"batch", "cronjobs", "v1beta1", "v1", "v1.21", "v1.25"},
    {kRbac, "clusterroles", "v1beta1", "v1", "v1.17", "v1.22"},
    {kRbac, "clusterrolebindings", "v1beta1", "v1", "v1.17", "v1.22"},
    {kRbac, "roles", "v1beta1", "v1", "v1.17", "v1.22"},
    {kRbac, "rolebindings", "v1beta1", "v1", "v1.17", "v1.22"},
    {kAdmission, "mutatingwebhookconfigurations", "v1beta1", "v1", "v1.16", "v1.22",
     make_old_webhooks},
    {kAdmission, "validatingwebhookconfigurations", "v1beta1", "v1", "v1.16", "v1.22",
     make_old_webhooks},
    {"apiregistration.k8s.io", "apiservices", "v1beta1", "v1", "v1.19", "v1.22"},
}};

// Definitions of the published schema are named by type: a face has its own.
SchemaPtr schema_named(const SchemaPtr& schema, std::string_view version) {
  auto out = std::make_shared<Schema>(*schema);
  const std::size_t kind = out->go_type.rfind('.');
  const std::size_t before = out->go_type.rfind('.', kind - 1);
  out->go_type.replace(before + 1, kind - before - 1, version);
  return out;
}

KindPtr face_of(const Kind& stored, const Beta& beta) {
  Kind face = stored;
  face.resource.version = beta.version;
  face.schema = schema_named(stored.schema, beta.version);
  const std::string name(beta.group);
  face.traits.deprecation = name + "/" + std::string(beta.version) + " " + face.resource.kind +
                            " is deprecated in " + std::string(beta.since) + "+, unavailable in " +
                            std::string(beta.until) + "+; use " + stored.resource.api_version() +
                            " " + face.resource.kind;
  if (beta.change) beta.change(face);
  return std::make_shared<const Kind>(std::move(face));
}

}  // namespace

const Kinds& kinds_with_betas() {
  static const Kinds all = [] {
    Kinds kinds = builtin_kinds();
    for (const Beta& beta : kBetas) {
      auto stored = std::ranges::find_if(builtin_kinds(), [&](const KindPtr& one) {
        return one->resource.group == beta.group && one->resource.plural == beta.plural &&
               one->resource.version == beta.stored;
      });
      CHECK(stored != builtin_kinds().end(), "a face is one of a kind that is served");
      kinds.push_back(face_of(**stored, beta));
    }
    return kinds;
  }();
  return all;
}

}  // namespace hekla::apiserver
