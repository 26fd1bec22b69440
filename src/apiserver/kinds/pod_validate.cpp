// Is this a pod? Containers and the pod as a whole; volumes and placement have files of their own.
// Texts and paths are those of Kubernetes 1.34's pkg/apis/core/validation.
#include "apiserver/kinds/pod_rules.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

const std::vector<std::string> kProtocols{"SCTP", "TCP", "UDP"};

void validate_ports(const Field& ports, Rules& rules) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.items().size(); ++i) {
    Field port = ports.at(i);
    if (!port["name"].text().empty() && rules.port_name(port["name"]))
      rules.unique(names, port["name"]);
    if (port["containerPort"].number() == 0)
      rules.required(port["containerPort"]);
    else
      rules.port(port["containerPort"]);
    if (port["hostPort"].number() != 0) rules.port(port["hostPort"]);
    rules.one_of(port["protocol"], kProtocols, true);
  }
}

// Since 1.34 any printable ASCII but "=" may stand in a variable's name.
void validate_env_name(const Field& name, Rules& rules) {
  for (char c : name.text()) {
    if (c > ' ' - 1 && c < 0x7f && c != '=') continue;
    rules.invalid(
        name,
        "a valid environment variable name must consist only of printable ASCII characters other "
        "than '='");
    return;
  }
}

void validate_key_reference(const Field& reference, Rules& rules) {
  rules.need_text(reference["name"]);
  if (reference["key"].text().empty())
    rules.required(reference["key"]);
  else
    rules.config_key(reference, reference["key"].text());
}

void validate_value_from(const Field& variable, Rules& rules) {
  Field source = variable["valueFrom"];
  if (!source.present()) return;
  int sources = 0;
  for (std::string_view kind :
       {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"})
    sources += source[kind].present();
  if (source["fieldRef"].present()) rules.need_text(source["fieldRef"]["fieldPath"]);
  if (source["resourceFieldRef"].present()) rules.need_text(source["resourceFieldRef"]["resource"]);
  for (std::string_view kind : {"configMapKeyRef", "secretKeyRef"})
    if (source[kind].present()) validate_key_reference(source[kind], rules);
  if (sources == 0)
    rules.invalid(
        source, json::Value(""),
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`");
  else if (!variable["value"].text().empty())
    rules.invalid(source, json::Value(""), "may not be specified when `value` is not empty");
  else if (sources > 1)
    rules.invalid(source, json::Value(""), "may not have more than one field specified at a time");
}

void validate_env(const Field& container, Rules& rules) {
  Field env = container["env"];
  for (std::size_t i = 0; i < env.items().size(); ++i) {
    Field variable = env.at(i);
    if (rules.need_text(variable["name"])) validate_env_name(variable["name"], rules);
    validate_value_from(variable, rules);
  }
  Field from = container["envFrom"];
  for (std::size_t i = 0; i < from.items().size(); ++i) {
    Field source = from.at(i);
    if (!source["prefix"].text().empty()) validate_env_name(source["prefix"], rules);
    int sources = 0;
    for (std::string_view kind : {"configMapRef", "secretRef"}) {
      if (!source[kind].present()) continue;
      ++sources;
      rules.need_text(source[kind]["name"]);
    }
    if (sources == 0)
      rules.invalid(from, json::Value(""), "must specify one of: `configMapRef` or `secretRef`");
    else if (sources > 1)
      rules.invalid(from, json::Value(""), "may not have more than one field specified at a time");
  }
}

void validate_mounts(const Field& container, const std::set<std::string>& volumes, Rules& rules) {
  Field mounts = container["volumeMounts"];
  std::set<std::string> paths;
  for (std::size_t i = 0; i < mounts.items().size(); ++i) {
    Field mount = mounts.at(i);
    rules.need_text(mount["name"]);
    if (!volumes.contains(std::string(mount["name"].text()))) rules.not_found(mount["name"]);
    rules.need_text(mount["mountPath"]);
    if (!paths.insert(std::string(mount["mountPath"].text())).second)
      rules.invalid(mount["mountPath"], "must be unique");
    if (mount["subPath"].text().starts_with('/'))
      rules.invalid(mounts["subPath"], mount["subPath"].value(), "must be a relative path");
    if (!mount["subPathExpr"].text().empty() && !mount["subPath"].text().empty())
      rules.invalid(mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive");
  }
}

void validate_handler(const Field& handler, Rules& rules) {
  int kinds = 0;
  for (std::string_view kind : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    if (!handler[kind].present()) continue;
    if (++kinds > 1) {
      rules.forbidden(handler[kind], "may not specify more than 1 handler type");
      continue;
    }
    if (kind == "exec" && handler["exec"]["command"].items().empty())
      rules.required(handler["exec"]["command"]);
    if (kind == "httpGet") {
      rules.need_text(handler["httpGet"]["path"]);
      rules.port_or_name(handler["httpGet"]["port"]);
      rules.one_of(handler["httpGet"]["scheme"], {"HTTP", "HTTPS"});
    }
    if (kind == "tcpSocket") rules.port_or_name(handler["tcpSocket"]["port"]);
    if (kind == "grpc") rules.port(handler["grpc"]["port"]);
  }
  if (kinds == 0) rules.required(handler, "must specify a handler type");
}

void validate_probe(const Field& container, std::string_view name, Rules& rules) {
  Field probe = container[name];
  if (!probe.present()) return;
  validate_handler(probe, rules);
  for (std::string_view number : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                  "successThreshold", "failureThreshold"})
    rules.not_negative(probe[number]);
  if (name != "readinessProbe" && probe["successThreshold"].number(1) != 1)
    rules.invalid(probe["successThreshold"], "must be 1");
  if (Field grace = probe["terminationGracePeriodSeconds"]; grace.present()) {
    if (name == "readinessProbe")
      rules.invalid(grace, "must not be set for readinessProbes");
    else if (grace.number() <= 0)
      rules.invalid(grace, "must be greater than 0");
  }
}

void validate_hooks(const Field& container, bool allowed, Rules& rules) {
  for (std::string_view member : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!container[member].present()) continue;
    if (!allowed)
      rules.forbidden(container[member],
                      "may not be set for init containers without restartPolicy=Always");
    else if (member != "lifecycle")
      validate_probe(container, member, rules);
  }
  if (!allowed) return;
  for (std::string_view hook : {"postStart", "preStop"})
    if (container["lifecycle"][hook].present())
      validate_handler(container["lifecycle"][hook], rules);
}

void validate_identity_of(const Field& security, Rules& rules) {
  for (std::string_view member : {"runAsUser", "runAsGroup", "fsGroup"})
    if (Field id = security[member]; id.present() && (id.number() < 0 || id.number() > 2147483647))
      rules.invalid(id, "must be between 0 and 2147483647, inclusive");
  if (security["privileged"].flag() && security["allowPrivilegeEscalation"].present() &&
      !security["allowPrivilegeEscalation"].flag())
    rules.invalid(security,
                  "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
}

// Words of small letters and digits, with dashes and underscores inside, parted by dots or slashes.
bool is_sysctl_name(std::string_view name) {
  auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  auto separates = [](char c) { return c == '.' || c == '/'; };
  if (name.empty() || name.size() > 253) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool at_edge = i == 0 || i + 1 == name.size() || separates(name[i - 1]) || separates(name[i + 1]);
    const bool inside = name[i] == '-' || name[i] == '_' || separates(name[i]);
    if (!plain(name[i]) && (!inside || at_edge)) return false;
  }
  return true;
}

void validate_sysctls(const Field& sysctls, Rules& rules) {
  for (std::size_t i = 0; i < sysctls.items().size(); ++i) {
    Field name = sysctls.at(i)["name"];
    if (rules.need_text(name) && !is_sysctl_name(name.text()))
      rules.invalid(name, "must have at most 253 characters and match regex "
                          "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9]$");
  }
}

void validate_container(const Field& container, bool is_pod, const std::set<std::string>& volumes,
                        Rules& rules) {
  if (rules.need_text(container["name"])) rules.dns_label(container["name"]);
  if (rules.need_text(container["image"]) && is_pod) {
    std::string_view image = container["image"].text();
    if (std::isspace(static_cast<unsigned char>(image.front())) ||
        std::isspace(static_cast<unsigned char>(image.back())))
      rules.invalid(container["image"], "must not have leading or trailing whitespace");
  }
  rules.one_of(container["terminationMessagePolicy"], {"File", "FallbackToLogsOnError"}, true);
  validate_ports(container["ports"], rules);
  validate_env(container, rules);
  validate_mounts(container, volumes, rules);
  rules.one_of(container["imagePullPolicy"], {"Always", "IfNotPresent", "Never"}, true);
  validate_container_resources(container["resources"], rules);
  validate_identity_of(container["securityContext"], rules);
}

// Two containers of a pod cannot have the same port of the host.
void check_host_ports(const Field& containers, Rules& rules) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < containers.items().size(); ++i) {
    Field ports = containers.at(i)["ports"];
    for (std::size_t p = 0; p < ports.items().size(); ++p) {
      Field port = ports.at(p);
      if (port["hostPort"].number() == 0) continue;
      std::string key = std::string(port["protocol"].text()) + "/" +
                        std::string(port["hostIP"].text()) + "/" +
                        std::to_string(port["hostPort"].number());
      if (!taken.insert(key).second)
        rules.causes.push_back(duplicate_value(port["hostPort"].path(), json::Value(key)));
    }
  }
}

void validate_containers(const Field& spec, bool is_pod, const std::set<std::string>& volumes,
                         Rules& rules) {
  std::set<std::string> names;
  Field containers = spec["containers"];
  if (containers.items().empty()) rules.required(containers);
  for (std::size_t i = 0; i < containers.items().size(); ++i) {
    Field container = containers.at(i);
    validate_container(container, is_pod, volumes, rules);
    if (!container["name"].text().empty()) rules.unique(names, container["name"]);
    validate_hooks(container, true, rules);
    if (container["restartPolicy"].present())
      rules.forbidden(container["restartPolicy"], "may not be set for non-init containers");
  }
  check_host_ports(containers, rules);
  Field inits = spec["initContainers"];
  for (std::size_t i = 0; i < inits.items().size(); ++i) {
    Field container = inits.at(i);
    validate_container(container, is_pod, volumes, rules);
    bool sidecar = container["restartPolicy"].text() == "Always";
    rules.one_of(container["restartPolicy"], {"Always"});
    if (!container["name"].text().empty()) rules.unique(names, container["name"]);
    validate_hooks(container, sidecar, rules);
  }
}

void validate_dns(const Field& spec, Rules& rules) {
  rules.one_of(spec["dnsPolicy"], {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"},
               true);
  Field config = spec["dnsConfig"];
  if (spec["dnsPolicy"].text() == "None") {
    if (!config.present())
      rules.required(config, "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (config["nameservers"].items().empty())
      rules.required(config["nameservers"],
                     "must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
  for (std::size_t i = 0; i < config["nameservers"].items().size(); ++i)
    rules.ip(config["nameservers"].at(i));
}

void validate_identity(const Field& spec, Rules& rules) {
  for (std::string_view name :
       {"serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"})
    if (!spec[name].text().empty()) rules.dns_subdomain(spec[name]);
  for (std::string_view name : {"hostname", "subdomain"})
    if (!spec[name].text().empty()) rules.dns_label(spec[name]);
  if (Field deadline = spec["activeDeadlineSeconds"]; deadline.present())
    if (deadline.number() < 1 || deadline.number() > 2147483647)
      rules.invalid(deadline, "must be between 1 and 2147483647, inclusive");
  rules.one_of(spec["preemptionPolicy"], {"PreemptLowerPriority", "Never"});
  Field gates = spec["schedulingGates"];
  std::set<std::string> seen;
  for (std::size_t i = 0; i < gates.items().size(); ++i) {
    rules.qualified_name(gates.at(i)["name"]);
    if (!seen.insert(std::string(gates.at(i)["name"].text())).second)
      rules.causes.push_back(duplicate_value(gates.at(i).path(), gates.at(i)["name"].value()));
  }
  Field aliases = spec["hostAliases"];
  for (std::size_t i = 0; i < aliases.items().size(); ++i) {
    rules.ip(aliases.at(i)["ip"]);
    for (std::size_t h = 0; h < aliases.at(i)["hostnames"].items().size(); ++h)
      rules.dns_subdomain(aliases.at(i)["hostnames"].at(h));
  }
}

bool is_overcommittable(std::string_view name) {
  bool native = name.find('/') == std::string_view::npos ||
                name.find("kubernetes.io/") != std::string_view::npos;
  return native && !name.starts_with("hugepages-");
}

bool is_container_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

void validate_resource(const Field& entry, std::string_view name, Rules& rules) {
  for (const std::string& why : model::qualified_name_errors(name))
    rules.invalid(entry, json::Value(name), why);
  if (name.find('/') == std::string_view::npos) {
    static const std::set<std::string, std::less<>> kStandard{
        "cpu",      "memory",  "ephemeral-storage", "pods",
        "services", "storage", "requests.cpu",      "limits.cpu"};
    if (!is_container_resource(name)) {
      if (!kStandard.contains(name))
        rules.invalid(entry, json::Value(name),
                      "must be a standard resource type or fully qualified");
      rules.invalid(entry, json::Value(name), "must be a standard resource for containers");
    }
  }
  auto quantity = model::Quantity::from_json(entry.value());
  if (!quantity) return;
  if (quantity->nanos < 0)
    rules.invalid(entry, json::Value(quantity->text()), "must be greater than or equal to 0");
  bool whole = name.find('/') != std::string_view::npos || name.starts_with("hugepages-");
  if (whole && quantity->nanos % 1'000'000'000 != 0)
    rules.invalid(entry, json::Value(quantity->text()), "must be an integer");
}

}  // namespace

void validate_container_resources(const Field& resources, Rules& rules) {
  Field limits = resources["limits"], requests = resources["requests"];
  for (const auto& limit : limits.members())
    validate_resource(limits.key(limit.key()), limit.key(), rules);
  for (const auto& request : requests.members()) {
    std::string_view name = request.key();
    validate_resource(requests.key(name), name, rules);
    auto wanted = model::Quantity::from_json(request.value());
    Field limit = limits.key(name);
    if (!limit.present()) {
      if (!is_overcommittable(name))
        rules.required(limits, "Limit must be set for non overcommitable resources");
      continue;
    }
    auto most = model::Quantity::from_json(limit.value());
    if (!wanted || !most) continue;
    if (*wanted != *most && !is_overcommittable(name))
      rules.invalid(requests, json::Value(wanted->text()),
                    "must be equal to " + std::string(name) + " limit of " + most->text());
    else if (*wanted > *most)
      rules.invalid(
          requests, json::Value(wanted->text()),
          "must be less than or equal to " + std::string(name) + " limit of " + most->text());
  }
}

void validate_pod_spec(const Field& spec, bool is_pod, Rules& rules) {
  std::set<std::string> volumes;
  validate_volumes(spec["volumes"], volumes, rules);
  validate_containers(spec, is_pod, volumes, rules);
  rules.one_of(spec["restartPolicy"], {"Always", "OnFailure", "Never"}, true);
  validate_dns(spec, rules);
  rules.labels(spec["nodeSelector"]);
  validate_identity_of(spec["securityContext"], rules);
  validate_sysctls(spec["securityContext"]["sysctls"], rules);
  validate_affinity(spec["affinity"], rules);
  validate_identity(spec, rules);
  validate_tolerations(spec["tolerations"], rules);
  validate_spread(spec["topologySpreadConstraints"], rules);
}

void validate_pod_template(const Field& pod_template, Rules& rules) {
  rules.labels(pod_template["metadata"]["labels"]);
  validate_pod_spec(pod_template["spec"], false, rules);
  if (!pod_template["spec"]["ephemeralContainers"].items().empty())
    rules.forbidden(pod_template["spec"]["ephemeralContainers"],
                    "ephemeral containers not allowed in pod template");
}

}  // namespace hekla::apiserver
