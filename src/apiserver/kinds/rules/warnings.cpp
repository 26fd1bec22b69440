// The conditions and the texts are those of Kubernetes 1.34. Not among them: overlapping paths of
// volumes, addresses in old spellings, certificates that do not belong to their key.
#include "apiserver/kinds/rules/warnings.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules/rules.h"
#include "json/go_text.h"
#include "json/value.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

struct Deprecated {
  std::string_view name, message;
};

constexpr std::array<Deprecated, 8> kNodeLabels{{
    {"beta.kubernetes.io/arch", R"(deprecated since v1.14; use "kubernetes.io/arch" instead)"},
    {"beta.kubernetes.io/os", R"(deprecated since v1.14; use "kubernetes.io/os" instead)"},
    {"failure-domain.beta.kubernetes.io/region",
     R"(deprecated since v1.17; use "topology.kubernetes.io/region" instead)"},
    {"failure-domain.beta.kubernetes.io/zone",
     R"(deprecated since v1.17; use "topology.kubernetes.io/zone" instead)"},
    {"beta.kubernetes.io/instance-type",
     R"(deprecated since v1.17; use "node.kubernetes.io/instance-type" instead)"},
    {"app.kubernetes.io/created-by", "deprecated since v1.9"},
    {"scheduler.alpha.kubernetes.io/preferAvoidPods",
     "deprecated since v1.22; use Taints and Tolerations instead"},
    {"node-role.kubernetes.io/master", R"(use "node-role.kubernetes.io/control-plane" instead)"},
}};

constexpr std::array<Deprecated, 3> kPodAnnotations{{
    {"scheduler.alpha.kubernetes.io/critical-pod",
     R"(non-functional in v1.16+; use the "priorityClassName" field instead)"},
    {"security.alpha.kubernetes.io/sysctls",
     R"(non-functional in v1.11+; use the "sysctls" field instead)"},
    {"security.alpha.kubernetes.io/unsafe-sysctls",
     R"(non-functional in v1.11+; use the "sysctls" field instead)"},
}};

constexpr std::array<Deprecated, 9> kVolumes{{
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageOS", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
}};

constexpr std::string_view kSeccompField =
    R"(non-functional in v1.27+; use the "seccompProfile" field instead)";
constexpr std::string_view kNoSelector = "a null labelSelector results in matching no pod";

const Deprecated* deprecated_label(std::string_view label) {
  auto found = std::find_if(kNodeLabels.begin(), kNodeLabels.end(),
                            [&](const Deprecated& one) { return one.name == label; });
  return found == kNodeLabels.end() ? nullptr : &*found;
}

// Gathers the warnings about one object.
class Warnings {
 public:
  std::vector<std::string> said;

  void add(const Field& at, std::string_view text) {
    said.push_back(at.path() + ": " + std::string(text));
  }

  void whole_bytes(const Field& amount) {
    if (!amount.present()) return;
    Result<model::Quantity> quantity = model::Quantity::from_json(amount.value());
    if (quantity && quantity->milli_value() % 1000 != 0)
      add(amount, "fractional byte value " + json::go_quote(quantity->text()) +
                      " is invalid, must be an integer");
  }

  void claim(const Field& spec) {
    whole_bytes(spec["resources"]["requests"].key("storage"));
    whole_bytes(spec["resources"]["limits"].key("storage"));
  }

  void node_term(const Field& term) {
    for (std::size_t i = 0; i < term["matchExpressions"].items().size(); ++i) {
      const Field key = term["matchExpressions"].at(i)["key"];
      if (const Deprecated* label = deprecated_label(key.text()))
        add(key, std::string(label->name) + " is " + std::string(label->message));
    }
  }

  void pod(const Field& pod, bool is_template) {
    const Field spec = pod["spec"];
    placement(spec);
    for (const Deprecated& one : kPodAnnotations)
      if (const Field at = pod["metadata"]["annotations"].key(one.name); at.present())
        add(at, one.message);
    volumes(spec["volumes"]);
    repeated(spec["hostAliases"], "ip");
    repeated(spec["imagePullSecrets"], "name");
    for (std::size_t i = 0; i < spec["imagePullSecrets"].items().size(); ++i)
      if (const Field name = spec["imagePullSecrets"].at(i)["name"]; name.text().empty())
        add(name, "invalid empty name \"\"");
    whole_bytes(spec["overhead"].key("memory"));
    whole_bytes(spec["overhead"].key("ephemeral-storage"));
    const Field annotations = pod["metadata"]["annotations"];
    constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
    if (!spec["securityContext"]["seccompProfile"].present() &&
        annotations.key(kSeccompPod).present())
      add(annotations.key(kSeccompPod), kSeccompField);
    each_container(spec, [&](const Field& one) { container(one, annotations, is_template); });
    ports(spec);
    if (const Field grace = spec["terminationGracePeriodSeconds"]; grace.number() < 0)
      add(grace, "must be >= 0; negative values are invalid and will be treated as 1");
    affinity(spec["affinity"]["podAffinity"]);
    affinity(spec["affinity"]["podAntiAffinity"]);
  }

 private:
  template <class Visit>
  static void each_container(const Field& spec, Visit visit) {
    for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
      for (std::size_t i = 0; i < spec[list].items().size(); ++i) visit(spec[list].at(i));
  }

  void placement(const Field& spec) {
    for (const auto& label : spec["nodeSelector"].members())
      if (const Deprecated* one = deprecated_label(label.key()))
        add(spec["nodeSelector"].key(label.key()), one->message);
    const Field node = spec["affinity"]["nodeAffinity"];
    const Field terms = node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    for (std::size_t i = 0; i < terms.items().size(); ++i) node_term(terms.at(i));
    const Field preferred = node["preferredDuringSchedulingIgnoredDuringExecution"];
    for (std::size_t i = 0; i < preferred.items().size(); ++i)
      node_term(preferred.at(i)["preference"]);
    for (std::size_t i = 0; i < spec["topologySpreadConstraints"].items().size(); ++i) {
      const Field one = spec["topologySpreadConstraints"].at(i);
      if (const Deprecated* label = deprecated_label(one["topologyKey"].text()))
        add(one["topologyKey"], std::string(label->name) + " is " + std::string(label->message));
      if (!one["labelSelector"].present()) add(one["labelSelector"], kNoSelector);
    }
  }

  void affinity(const Field& pods) {
    const Field required = pods["requiredDuringSchedulingIgnoredDuringExecution"];
    for (std::size_t i = 0; i < required.items().size(); ++i)
      if (const Field selector = required.at(i)["labelSelector"]; !selector.present())
        add(selector, kNoSelector);
    const Field preferred = pods["preferredDuringSchedulingIgnoredDuringExecution"];
    for (std::size_t i = 0; i < preferred.items().size(); ++i)
      if (const Field selector = preferred.at(i)["podAffinityTerm"]["labelSelector"];
          !selector.present())
        add(selector, kNoSelector);
  }

  void volumes(const Field& list) {
    for (std::size_t i = 0; i < list.items().size(); ++i) {
      for (const Deprecated& one : kVolumes)
        if (const Field source = list.at(i)[one.name]; source.present()) add(source, one.message);
      claim(list.at(i)["ephemeral"]["volumeClaimTemplate"]["spec"]);
    }
  }

  void repeated(const Field& list, std::string_view member) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < list.items().size(); ++i)
      if (const Field one = list.at(i)[member]; !seen.insert(one.text()).second)
        add(one, "duplicate " + std::string(member) + " " + json::go_quote(one.text()));
  }

  void container(const Field& one, const Field& annotations, bool is_template) {
    const std::string name(one["name"].text());
    const std::string seccomp = "container.seccomp.security.alpha.kubernetes.io/" + name;
    if (!one["securityContext"]["seccompProfile"].present() && annotations.key(seccomp).present())
      add(annotations.key(seccomp), kSeccompField);
    const std::string armor = "container.apparmor.security.beta.kubernetes.io/" + name;
    if (is_template && !one["securityContext"]["appArmorProfile"].present() &&
        annotations.key(armor).present())
      add(annotations.key(armor),
          R"(deprecated since v1.30; use the "appArmorProfile" field instead)");
    for (std::string_view resource : {"memory", "ephemeral-storage"})
      for (std::string_view bound : {"limits", "requests"})
        whole_bytes(one["resources"][bound].key(resource));
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < one["env"].items().size(); ++i) {
      const Field variable = one["env"].at(i);
      if (seen.insert(variable["name"].text()).second) continue;
      const std::string reference = "$(" + std::string(variable["name"].text()) + ")";
      const std::string_view value = variable["value"].text();
      if (variable["valueFrom"].present() || value == reference ||
          value.find(reference) == std::string_view::npos)
        add(variable, "hides previous definition of " + json::go_quote(variable["name"].text()) +
                          ", which may be dropped when using apply");
    }
  }

  void ports(const Field& spec) {
    std::map<std::string, std::vector<Field>> by_number;
    each_container(spec, [&](const Field& one) {
      for (std::size_t i = 0; i < one["ports"].items().size(); ++i) {
        const Field port = one["ports"].at(i);
        if (!port["hostIP"].text().empty() && port["hostPort"].number() == 0)
          add(port,
              "hostIP set without hostPort: {Name:" + std::string(port["name"].text()) +
                  " HostPort:0 ContainerPort:" + std::to_string(port["containerPort"].number()) +
                  " Protocol:" + std::string(port["protocol"].text()) +
                  " HostIP:" + std::string(port["hostIP"].text()) + "}");
        std::vector<Field>& others = by_number[std::to_string(port["containerPort"].number()) +
                                               "/" + std::string(port["protocol"].text())];
        for (const Field& other : others) meet(port, other);
        others.push_back(port);
      }
    });
    std::map<std::string_view, std::string> by_name;
    each_container(spec, [&](const Field& one) {
      for (std::size_t i = 0; i < one["ports"].items().size(); ++i) {
        const Field port = one["ports"].at(i);
        const std::string_view name = port["name"].text();
        if (name.empty()) continue;
        auto [other, first] = by_name.emplace(name, port.path());
        if (!first)
          add(port, "duplicate port name " + json::go_quote(name) + " with " + other->second +
                        ", services and probes that select ports by name will use " +
                        other->second);
      }
    });
  }

  // Two ports of one number and protocol.
  void meet(const Field& port, const Field& other) {
    const std::int64_t mine = port["hostPort"].number(), theirs = other["hostPort"].number();
    const std::string_view my_ip = port["hostIP"].text(), their_ip = other["hostIP"].text();
    if (my_ip == their_ip && mine == theirs)
      add(port, "duplicate port definition with " + other.path());
    else if (mine == 0 || theirs == 0)
      add(port, "overlapping port definition with " + other.path());
    else if (mine == theirs && my_ip.empty() != their_ip.empty())
      add(port, "dangerously ambiguous port definition with " + other.path());
  }
};

// Names of pods and hosts are made from this one.
void name_of_pods(const json::Value& object, std::string_view use, Warnings& warnings) {
  std::vector<std::string> wrong =
      model::dns1123_label_errors(json::string_at(object, {"metadata", "name"}));
  if (wrong.empty()) return;
  warnings.said.push_back(
      "metadata.name: this is used in " + std::string(use) +
      ", which can result in surprising behavior; a DNS label is recommended: [" +
      join(wrong, " ") + "]");
}

bool same_spec(const json::Value& object, const json::Value* old) {
  if (!old) return false;
  const json::Value *now = json::find(object, "spec"), *before = json::find(*old, "spec");
  return now && before && json::equal(*now, *before);
}

std::vector<std::string> of_pod(const json::Value& object, const json::Value* old) {
  Warnings warnings;
  if (old) return {};  // people do not write to pods that are there
  name_of_pods(object, "the Pod's hostname", warnings);
  warnings.pod(Field(object, ""), false);
  return std::move(warnings.said);
}

void of_job_spec(const Field& spec, Warnings& warnings) {
  if (spec["completionMode"].text() == "Indexed" && spec["completions"].number() > 100'000 &&
      spec["parallelism"].number() > 10'000)
    warnings.add(
        spec,
        "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "
        "than "
        "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes "
        "fail");
  warnings.pod(spec["template"], true);
}

// Workloads: once for every change of the spec.
std::vector<std::string> of_workload(const json::Value& object, const json::Value* old,
                                     std::string_view kind) {
  Warnings warnings;
  if (same_spec(object, old)) return {};
  if (!old && kind != "StatefulSet" && kind != "DaemonSet")
    name_of_pods(object, "Pod names and hostnames", warnings);
  const Field spec = Field(object, "")["spec"];
  if (kind == "CronJob")
    of_job_spec(spec["jobTemplate"]["spec"], warnings);
  else if (kind == "Job")
    of_job_spec(spec, warnings);
  else
    warnings.pod(spec["template"], true);
  if (kind == "StatefulSet")
    for (std::size_t i = 0; i < spec["volumeClaimTemplates"].items().size(); ++i)
      warnings.claim(Field(spec["volumeClaimTemplates"].at(i)["spec"].value(),
                           spec["volumeClaimTemplates"].at(i).path()));
  return std::move(warnings.said);
}

std::vector<std::string> of_service(const json::Value& object, const json::Value*) {
  std::vector<std::string> said;
  const Field spec = Field(object, "")["spec"];
  if (Field(object, "")["metadata"]["annotations"]["service.kubernetes.io/topology-aware-hints"]
          .present())
    said.emplace_back(
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead");
  const std::string_view type = spec["type"].text();
  if (type == "ClusterIP" && spec["clusterIP"].text() == "None") {
    if (!spec["loadBalancerIP"].text().empty())
      said.emplace_back("spec.loadBalancerIP is ignored for headless services");
    if (!spec["externalIPs"].items().empty())
      said.emplace_back("spec.externalIPs is ignored for headless services");
    // Upstream means to warn of an affinity; as it stands it warns of the default, None, too.
    if (!spec["sessionAffinity"].text().empty())
      said.emplace_back("spec.SessionAffinity is ignored for headless services");
  }
  if (type == "ExternalName" && !spec["externalIPs"].items().empty())
    said.emplace_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  if (type != "ExternalName" && !spec["externalName"].text().empty())
    said.emplace_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  return said;
}

std::vector<std::string> of_ingress(const json::Value& object, const json::Value* old) {
  const Field ingress(object, "");
  if (old || ingress["spec"]["ingressClassName"].present() ||
      !ingress["metadata"]["annotations"]["kubernetes.io/ingress.class"].present())
    return {};
  return {
      "annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
      "'spec.ingressClassName' instead"};
}

std::vector<std::string> of_claim(const json::Value& object, const json::Value*) {
  Warnings warnings;
  const Field claim(object, "");
  if (const Field old =
          claim["metadata"]["annotations"].key("volume.beta.kubernetes.io/storage-class");
      old.present())
    warnings.add(old, R"(deprecated since v1.8; use "storageClassName" attribute instead)");
  warnings.claim(claim["spec"]);
  return std::move(warnings.said);
}

std::vector<std::string> of_volume(const json::Value& object, const json::Value*) {
  Warnings warnings;
  const Field volume(object, "");
  const Field annotations = volume["metadata"]["annotations"];
  if (const Field old = annotations.key("volume.beta.kubernetes.io/storage-class"); old.present())
    warnings.add(old, R"(deprecated since v1.8; use "storageClassName" attribute instead)");
  if (const Field old = annotations.key("volume.beta.kubernetes.io/mount-options"); old.present())
    warnings.add(old, R"(deprecated since v1.31; use "mountOptions" attribute instead)");
  if (const Field policy = volume["spec"]["persistentVolumeReclaimPolicy"];
      policy.text() == "Recycle")
    warnings.add(
        policy,
        "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use "
        "dynamic provisioning.");
  const Field terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
  for (std::size_t i = 0; i < terms.items().size(); ++i) warnings.node_term(terms.at(i));
  return std::move(warnings.said);
}

std::vector<std::string> of_service_account(const json::Value& object, const json::Value* old) {
  constexpr std::string_view kEnforce = "kubernetes.io/enforce-mountable-secrets";
  const auto has = [&](const json::Value& account) {
    return !json::string_at(account, {"metadata", "annotations", kEnforce}).empty();
  };
  if (!has(object) || (old && has(*old))) return {};
  return {
      "metadata.annotations[" + std::string(kEnforce) +
      "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"};
}

}  // namespace

WarningsOfObject warnings_of(const kube::Resource& resource) {
  static const std::map<std::string_view, WarningsOfObject> kCore{
      {"Pod", of_pod},
      {"Service", of_service},
      {"PersistentVolumeClaim", of_claim},
      {"PersistentVolume", of_volume},
      {"ServiceAccount", of_service_account},
  };
  static const std::set<std::string_view> kWorkloads{
      "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet",
      "Job",        "CronJob"};
  if (resource.group.empty())
    if (auto found = kCore.find(resource.kind); found != kCore.end()) return found->second;
  if (resource.kind == "Ingress") return of_ingress;
  if (kWorkloads.contains(resource.kind))
    return [kind = resource.kind](const json::Value& object, const json::Value* old) {
      return of_workload(object, old, kind);
    };
  return {};
}

}  // namespace hekla::apiserver
