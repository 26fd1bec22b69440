// As upstream's plugin of that name: pods that violate what is enforced are refused, templates of
// pods are only warned of, and whoever tightens a namespace hears which of its pods would not be
// let in any more.
#include "apiserver/gates/pod_security_step.h"

#include <algorithm>
#include <array>
#include <map>

#include "apiserver/gates/chain.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/object/kind.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {
namespace {

using kube::AdmissionRequest;
using kube::Operation;

constexpr std::size_t kMaxExistingPods = 3000;  // looked at when a namespace is tightened

struct TemplateKind {
  std::string_view group, plural;
};
constexpr std::array<TemplateKind, 8> kTemplates{{{"", "replicationcontrollers"},
                                                  {"", "podtemplates"},
                                                  {"apps", "replicasets"},
                                                  {"apps", "deployments"},
                                                  {"apps", "statefulsets"},
                                                  {"apps", "daemonsets"},
                                                  {"batch", "jobs"},
                                                  {"batch", "cronjobs"}}};

// Namespaces that the administrator's default is not meant for: what Kubernetes and the platform
// run themselves.
PodSecurityLevel default_in(std::string_view ns, PodSecurityLevel by_default) {
  static constexpr std::array<std::string_view, 4> kSystem{"kube-system", "hekla-system",
                                                           "volcano-system", "local-path-storage"};
  return std::ranges::find(kSystem, ns) == kSystem.end() ? by_default
                                                         : PodSecurityLevel::privileged;
}

bool has_template(const kube::Resource& resource) {
  return std::ranges::any_of(kTemplates, [&](const TemplateKind& one) {
    return one.group == resource.group && one.plural == resource.plural;
  });
}

bool concerns(const kube::Resource& resource, Operation operation, std::string_view subresource) {
  if (operation != Operation::create && operation != Operation::update) return false;
  if (resource == kube::resources::pods)
    return subresource.empty() || subresource == "ephemeralcontainers" || subresource == "resize";
  return subresource.empty() && (resource == kube::resources::namespaces || has_template(resource));
}

const json::Value* template_of(const kube::Resource& resource, const json::Value& object) {
  if (resource.plural == "podtemplates") return json::find_path(object, {"template"});
  if (resource.plural == "cronjobs")
    return json::find_path(object, {"spec", "jobTemplate", "spec", "template"});
  return json::find_path(object, {"spec", "template"});
}

// Of what a pod may still change only images matter, and containers that come to it.
bool is_significant(const json::Value& pod, const json::Value& old) {
  static const json::Array kNone;
  auto list = [](const json::Value& of, std::string_view member) -> const json::Array& {
    const json::Array* found = json::array_at(of, {"spec", member});
    return found ? *found : kNone;
  };
  for (std::string_view member : {"containers", "initContainers"}) {
    const json::Array &now = list(pod, member), &before = list(old, member);
    if (now.size() != before.size()) return true;
    for (std::size_t i = 0; i < now.size(); ++i)
      if (json::string_at(now[i], {"image"}) != json::string_at(before[i], {"image"})) return true;
  }
  const json::Array& before = list(old, "ephemeralContainers");
  return std::ranges::any_of(list(pod, "ephemeralContainers"), [&](const json::Value& one) {
    return std::ranges::none_of(before, [&](const json::Value& other) {
      return json::string_at(one, {"name"}) == json::string_at(other, {"name"}) &&
             json::string_at(one, {"image"}) == json::string_at(other, {"image"});
    });
  });
}

void annotate(const AdmissionRequest& request, std::string_view key, std::string value) {
  audit_annotations_of(request)["pod-security.kubernetes.io/" + std::string(key)] =
      std::move(value);
}

// `enforce`: it is a pod and not the template of one.
Result<void> judge(const AdmissionRequest& request, const PodSecurityPolicy& policy,
                   const json::Value* metadata, const json::Value& spec, bool enforce) {
  if (!policy.problems.empty()) {
    std::string text;
    for (const Cause& cause : policy.problems)
      text += (text.empty() ? "" : ", ") + cause.field + ": " + cause.message;
    annotate(request, "error",
             "Failed to parse policy: " + (policy.problems.size() > 1 ? "[" + text + "]" : text));
  }
  auto complaint = [&](std::string_view verb, const PodSecurityStandard& standard) -> std::string {
    const std::vector<PodSecurityFinding> found = check_pod_security(standard, metadata, spec);
    if (found.empty()) return {};
    return std::string(verb) + " PodSecurity \"" + standard.text() +
           "\": " + finding_details(found);
  };
  std::string refusal;
  if (enforce) {
    annotate(request, "enforce-policy", policy.enforce.text());
    refusal = complaint("violates", policy.enforce);
  }
  if (std::string noted = complaint("would violate", policy.audit); !noted.empty())
    annotate(request, "audit-violations", std::move(noted));
  if (!refusal.empty())
    return std::unexpected(forbidden_error(request.resource, request.key.name, refusal));
  if (std::string warning = complaint("would violate", policy.warn); !warning.empty())
    request.warnings->push_back(std::move(warning));
  return {};
}

Result<void> judge_pod(const AdmissionRequest& request, const json::Value& object,
                       PodSecurityLevel by_default) {
  Result<kube::SharedValue> ns =
      request.reader->get(kube::resources::namespaces, {"", request.key.ns});
  if (!ns) return fail(Code::internal, "failed to lookup namespace \"" + request.key.ns + "\"");
  const PodSecurityPolicy policy =
      pod_security_policy(**ns, default_in(request.key.ns, by_default));
  constexpr PodSecurityLevel kFree = PodSecurityLevel::privileged;
  const bool silent =
      policy.problems.empty() && policy.audit.level == kFree && policy.warn.level == kFree;
  if (request.resource != kube::resources::pods) {
    const json::Value* found = silent ? nullptr : template_of(request.resource, object);
    const json::Value* spec = found ? json::find(*found, "spec") : nullptr;
    return spec ? judge(request, policy, json::find(*found, "metadata"), *spec, false)
                : Result<void>();
  }
  if (silent && policy.enforce.level == kFree) {
    annotate(request, "enforce-policy", "privileged:latest");
    return {};
  }
  if (request.old_object && !is_significant(object, *request.old_object)) return {};
  const json::Value* spec = json::find(object, "spec");
  return spec ? judge(request, policy, json::find(object, "metadata"), *spec, true)
              : Result<void>();
}

// Violations of a new standard by the pods of the namespace; pods that do the same are told
// of once.
void warn_of_existing_pods(const AdmissionRequest& request, const PodSecurityStandard& standard) {
  struct Group {
    std::string first;
    std::size_t pods = 0;
  };
  std::map<std::string, Group> groups;
  const std::string& ns = request.key.name;
  auto look = [&](const json::Value& pod) {
    const json::Value* spec = json::find(pod, "spec");
    if (!spec) return;
    const std::vector<PodSecurityFinding> found =
        check_pod_security(standard, json::find(pod, "metadata"), *spec);
    if (found.empty()) return;
    Group& group = groups[finding_reasons(found)];
    if (group.pods++ == 0) group.first = meta_string(pod, "name");  // they come by name
  };
  const std::size_t total =
      snapshot_of(request).visit(kube::resources::pods, ns, kMaxExistingPods, look);
  if (total > kMaxExistingPods)
    request.warnings->push_back("new PodSecurity enforce level only checked against the first " +
                                std::to_string(kMaxExistingPods) + " of " + std::to_string(total) +
                                " existing pods");
  if (groups.empty()) return;
  request.warnings->push_back("existing pods in namespace \"" + ns +
                              "\" violate the new PodSecurity enforce level \"" + standard.text() +
                              "\"");
  std::vector<std::string> lines;
  for (const auto& [reasons, group] : groups) {
    const std::string others = group.pods == 1 ? ""
                               : group.pods == 2
                                   ? " (and 1 other pod)"
                                   : " (and " + std::to_string(group.pods - 1) + " other pods)";
    lines.push_back(group.first + others + ": " + reasons);
  }
  std::ranges::sort(lines);
  request.warnings->insert(request.warnings->end(), lines.begin(), lines.end());
}

bool same_problems(const std::vector<Cause>& a, const std::vector<Cause>& b) {
  return std::ranges::equal(a, b, [](const Cause& x, const Cause& y) {
    return x.field == y.field && x.message == y.message;
  });
}

Result<void> judge_namespace(const AdmissionRequest& request, const json::Value& object,
                             PodSecurityLevel by_default) {
  const PodSecurityLevel usual = default_in(request.key.name, by_default);
  PodSecurityPolicy now = pod_security_policy(object, usual);
  const bool created = request.operation == Operation::create || !request.old_object;
  const PodSecurityPolicy before =
      created ? PodSecurityPolicy{} : pod_security_policy(*request.old_object, usual);
  if (!now.problems.empty() && (created || !same_problems(now.problems, before.problems)))
    return std::unexpected(
        invalid_object(request.resource, request.key.name, std::move(now.problems)));
  if (created || now.enforce == before.enforce || now.enforce.level == PodSecurityLevel::privileged)
    return {};
  if (now.enforce.minor == before.enforce.minor && now.enforce.level <= before.enforce.level)
    return {};
  warn_of_existing_pods(request, now.enforce);
  return {};
}

}  // namespace

kube::AdmissionStep pod_security_admission(PodSecurityLevel by_default, std::string exempt) {
  auto validate = [by_default, exempt = std::move(exempt)](
                      const AdmissionRequest& request, const json::Value& object) -> Result<void> {
    if (!exempt.empty() && request.resource == kube::resources::pods &&
        json::find_path(object, {"metadata", "annotations", exempt}))
      return {};
    return request.resource == kube::resources::namespaces
               ? judge_namespace(request, object, by_default)
               : judge_pod(request, object, by_default);
  };
  return {"PodSecurity", concerns, nullptr, validate};
}

}  // namespace hekla::apiserver
