// Profile: a namespace of somebody's own: its accounts, who may do what in it, its quota, and the
// policy that lets its owner through the gateway.
#include "controllers/workbench/profile_access.h"
#include "controllers/workbench/route.h"

namespace hekla::controllers::workbench {
namespace {

using framework::AnyObject;
using framework::Child;
using framework::Outcome;
using framework::View;
using json::Array;
using json::Object;
namespace resources = kube::resources;

const kube::Resource kPodDefaults{"kubeflow.org", "v1alpha1", "poddefaults", "PodDefault"};

// Labels that Kubeflow's manifests put on every profile's namespace.
const std::map<std::string, std::string> kNamespaceLabels = {
    {"istio-injection", "enabled"},
    {"katib.kubeflow.org/metrics-collector-injection", "enabled"},
    {"serving.kubeflow.org/inferenceservice", "enabled"},
    {"pipelines.kubeflow.org/enabled", "true"},
    {"app.kubernetes.io/part-of", "kubeflow-profile"}};

// The pods of a profile are its members' and are not given the machine. An administrator's other
// level stays: owners may not label their namespaces.
const std::string kPodSecurity = "pod-security.kubernetes.io/enforce";

std::string owner_name(const AnyObject& profile) {
  return json::text_at(profile.spec, {"owner", "name"});
}

bool is_reserved(const std::string& name) {
  for (const char* prefix : {"kube-", "istio-", "hekla-"})
    if (name.starts_with(prefix)) return true;
  for (const char* one : {"default", "kubeflow", "auth"})
    if (name == one) return true;
  return false;
}

bool is_ours(const AnyObject& profile, const AnyObject& ns) {
  const model::OwnerReference* controller = ns.metadata.controller();
  return controller && controller->uid == profile.metadata.uid;
}

// Reason for which the profile may not have its namespace; empty when it may.
std::string refusal(const AnyObject& profile, const AnyObject* ns) {
  const std::string owner = owner_name(profile);
  if (is_reserved(profile.metadata.name))
    return "namespace " + profile.metadata.name + " is the platform's own";
  if (owner.empty()) return "spec.owner.name is empty";
  if (!ns || is_ours(profile, *ns)) return {};
  if (ns->metadata.annotation("owner") == owner) return {};
  return "namespace already exist, but not owned by profile creator " + owner;
}

Object labels_and_owner(const AnyObject& profile) {
  Object labels;
  for (const auto& [name, value] : kNamespaceLabels) labels[name] = value;
  return {{"labels", std::move(labels)}, {"annotations", Object{{"owner", owner_name(profile)}}}};
}

// A namespace that was there before stays when the profile goes, so it gets no owner reference.
void want_namespace(const AnyObject& profile, const AnyObject* ns, Outcome& outcome) {
  Object metadata = labels_and_owner(profile);
  if (!ns || is_ours(profile, *ns)) {
    metadata["name"] = profile.metadata.name;
    const std::string level = ns ? ns->metadata.label(kPodSecurity) : "";
    metadata["labels"].get_object()[kPodSecurity] = level.empty() ? "baseline" : level;
    outcome.children.push_back(
        {.resource = resources::namespaces, .body = Object{{"metadata", std::move(metadata)}}});
    return;
  }
  for (const auto& [name, value] : kNamespaceLabels)
    if (ns->metadata.label(name) != value) {
      outcome.edits.push_back({.resource = resources::namespaces,
                               .key = {"", profile.metadata.name},
                               .merge = Object{{"metadata", std::move(metadata)}},
                               .uid = ns->metadata.uid});
      return;
    }
}

Child quota(const AnyObject& profile, const json::Value& spec) {
  return {.resource = resources::resource_quotas,
          .body = Object{{"metadata", Object{{"name", "kf-resource-quota"},
                                             {"namespace", profile.metadata.name}}},
                         {"spec", spec}}};
}

// A PodDefault: pods that bear the label are given a token that the pipelines' API takes.
Child pipeline_access(const AnyObject& profile) {
  const char* directory = "/var/run/secrets/kubeflow/pipelines";
  const char* volume = "volume-kf-pipeline-token";
  Object token{
      {"path", "token"}, {"expirationSeconds", 7200}, {"audience", "pipelines.kubeflow.org"}};
  Object sources{{"sources", Array{Object{{"serviceAccountToken", std::move(token)}}}}};
  return {
      .resource = kPodDefaults,
      .body = Object{
          {"metadata",
           Object{{"name", "access-ml-pipeline"}, {"namespace", profile.metadata.name}}},
          {"spec",
           Object{{"desc", "Allow access to Kubeflow Pipelines"},
                  {"selector", Object{{"matchLabels", Object{{"access-ml-pipeline", "true"}}}}},
                  {"volumes", Array{Object{{"name", volume}, {"projected", std::move(sources)}}}},
                  {"volumeMounts",
                   Array{Object{{"name", volume}, {"mountPath", directory}, {"readOnly", true}}}},
                  {"env", Array{Object{{"name", "KF_PIPELINES_SA_TOKEN_PATH"},
                                       {"value", std::string(directory) + "/token"}}}}}}}};
}

// Accounts of clouds are nobody's here: said, once, and the rest of the profile holds.
void tell_of_plugins(const AnyObject& profile, Outcome& outcome) {
  const Array* plugins = json::array_at(profile.spec, {"plugins"});
  for (std::size_t i = 0; plugins && i < plugins->size(); ++i)
    outcome.tell_with_status("Warning", "PluginIgnored",
                             "The plugin " + json::text_at(plugins->at(i), {"kind"}) +
                                 " has no effect: this platform knows no accounts of clouds");
}

Object status_of(const char* type, const std::string& message) {
  Object condition{{"type", type}, {"status", "True"}};
  if (!message.empty()) condition["message"] = message;
  return {{"conditions", Array{std::move(condition)}}};
}

Result<Outcome> reconcile(const AnyObject& profile, const View& view) {
  const std::string& name = profile.metadata.name;
  const framework::AnyRef ns = view.find(resources::namespaces, {"", name});
  Outcome outcome;
  if (const std::string why = refusal(profile, ns.get()); !why.empty()) {
    outcome.status = status_of("Failed", why);
    outcome.tell_with_status("Warning", "Failed", why);
    return outcome;
  }
  want_namespace(profile, ns.get(), outcome);
  if (!ns || ns->metadata.deletionTimestamp) return outcome;
  for (Child& child : access_to(profile)) outcome.children.push_back(std::move(child));
  outcome.children.push_back(pipeline_access(profile));
  const json::Value* limits = json::find(profile.spec, "resourceQuotaSpec");
  const Object* hard = limits ? json::object_at(*limits, {"hard"}) : nullptr;
  if (hard && !hard->empty()) outcome.children.push_back(quota(profile, *limits));
  tell_of_plugins(profile, outcome);
  outcome.status = status_of("Successful", "");
  return outcome;
}

// The namespace goes first: who deletes a profile and waits finds nothing left of it.
Result<Outcome> finalize(const AnyObject& profile, const View& view) {
  const framework::AnyRef ns = view.find(resources::namespaces, {"", profile.metadata.name});
  Outcome outcome;
  outcome.finalized = !ns || !is_ours(profile, *ns);
  if (!outcome.finalized && !ns->metadata.deletionTimestamp)
    outcome.removals.push_back(framework::removal_of(resources::namespaces, ns->metadata));
  return outcome;
}

framework::KindDescription describe(const WorkbenchOptions&);

}  // namespace

extern const WorkbenchKind workbench_kind_profile;
const WorkbenchKind workbench_kind_profile{{"kubeflow.org", "v1", "profiles", "Profile", false},
                                           describe};

namespace {

framework::KindDescription describe(const WorkbenchOptions&) {
  auto whom = [](const AnyObject* before, const AnyObject* after, const framework::Wake& wake) {
    wake({"", (after ? after : before)->metadata.name});
  };
  return {.name = "profile-controller",
          .resource = workbench_kind_profile.resource,
          .owns = {owned(resources::namespaces), owned(resources::service_accounts),
                   pruned(role_bindings), pruned(resources::resource_quotas),
                   owned(authorization_policies, true), owned(kPodDefaults, true)},
          .follows = {framework::follow<AnyObject>(resources::namespaces, whom)},
          .reconcile = reconcile,
          .finalizer = "profile-finalizer",
          .finalize = finalize};
}

}  // namespace
}  // namespace hekla::controllers::workbench
