// Is this a pod? Containers and the pod as a whole; volumes, resources, identity and placement have
// files of their own. Texts and paths are those of Kubernetes 1.34's pkg/apis/core/validation.
#include <algorithm>
#include <cctype>

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/text/field_error.h"

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
  const json::Value name(reference["name"].text());
  rules.dns_subdomain(Field(name, reference["name"].path()));
  if (reference["key"].text().empty()) {
    rules.required(reference["key"]);
    return;
  }
  Rules key;
  key.config_key(reference, reference["key"].text());
  for (Cause& cause : key.causes) {
    cause.field = reference["key"].path();
    rules.causes.push_back(std::move(cause));
  }
}

void validate_value_from(const Field& variable, Rules& rules) {
  Field source = variable["valueFrom"];
  if (!source.present()) return;
  int sources = 0;
  for (std::string_view kind :
       {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"})
    sources += source[kind].present();
  if (source["fieldRef"].present()) validate_field_reference(source["fieldRef"], false, rules);
  if (source["resourceFieldRef"].present())
    validate_resource_reference(source["resourceFieldRef"], false, rules);
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
      if (rules.need_text(source[kind]["name"])) rules.dns_subdomain(source[kind]["name"]);
    }
    if (sources == 0)
      rules.invalid(from, json::Value(""), "must specify one of: `configMapRef` or `secretRef`");
    else if (sources > 1)
      rules.invalid(from, json::Value(""), "may not have more than one field specified at a time");
  }
}

void validate_headers(const Field& http, Rules& rules) {
  for (const json::Value& header : http["httpHeaders"].items()) {
    const std::string_view name = json::string_at(header, {"name"});
    const bool good = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return std::isalnum(c) || c == '-';
    });
    if (!good)
      rules.invalid(http["httpHeaders"], json::Value(name),
                    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
                    "'X-Header-Name', regex "
                    "used for validation is '[-A-Za-z0-9]+')");
  }
}

// A hook may not sleep longer than its pod has to end.
void validate_sleep(const Field& sleep, const Field& grace, Rules& rules) {
  const std::int64_t seconds = sleep["seconds"].number();
  if (grace.present() && (seconds < 0 || seconds > grace.number()))
    rules.invalid(sleep, json::Value(seconds),
                  "must be non-negative and less than terminationGracePeriodSeconds (" +
                      std::to_string(grace.number()) + ")");
}

void validate_handler(const Field& handler, const Field& grace, Rules& rules) {
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
      validate_headers(handler["httpGet"], rules);
    }
    if (kind == "tcpSocket") rules.port_or_name(handler["tcpSocket"]["port"]);
    if (kind == "grpc") rules.port(handler["grpc"]["port"]);
    if (kind == "sleep") validate_sleep(handler["sleep"], grace, rules);
  }
  if (kinds == 0) rules.required(handler, "must specify a handler type");
}

void validate_probe(const Field& container, std::string_view name, const Field& grace_period,
                    Rules& rules) {
  Field probe = container[name];
  if (!probe.present()) return;
  validate_handler(probe, grace_period, rules);
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

void validate_hooks(const Field& container, const Field& spec, bool allowed, Rules& rules) {
  const Field grace = spec["terminationGracePeriodSeconds"];
  for (std::string_view member : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (!container[member].present()) continue;
    if (!allowed)
      rules.forbidden(container[member],
                      "may not be set for init containers without restartPolicy=Always");
    else if (member != "lifecycle")
      validate_probe(container, member, grace, rules);
  }
  if (!allowed) return;
  for (std::string_view hook : {"postStart", "preStop"})
    if (container["lifecycle"][hook].present())
      validate_handler(container["lifecycle"][hook], grace, rules);
}

// Upstream complains of the list's place, not of the item's.
void validate_resize_policies(const Field& policies, const Field& spec, Rules& rules) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < policies.items().size(); ++i) {
    const Field resource(policies.at(i)["resourceName"].value(), policies.path());
    const Field restart(policies.at(i)["restartPolicy"].value(), policies.path());
    if (!seen.insert(std::string(resource.text())).second)
      rules.causes.push_back(duplicate_value(policies.at(i).path(), resource.value()));
    rules.one_of(resource, {"cpu", "memory"}, true);
    rules.one_of(restart, {"NotRequired", "RestartContainer"}, true);
    if (spec["restartPolicy"].text() == "Never" && restart.text() != "NotRequired")
      rules.invalid(restart, "must be 'NotRequired' when `restartPolicy` is 'Never'");
  }
}

// Claims of the pod as a container takes them: a claim, or some of its requests, once.
void validate_claims(const Field& claims, const Field& of_pod, Rules& rules) {
  std::set<std::string> known, taken;
  for (const json::Value& one : of_pod.items())
    if (std::string_view name = json::string_at(one, {"name"}); !name.empty()) known.emplace(name);
  for (std::size_t i = 0; i < claims.items().size(); ++i) {
    const Field claim = claims.at(i);
    const std::string name(claim["name"].text()), request(claim["request"].text());
    if (name.empty()) {
      rules.required(claim);
      continue;
    }
    const std::string key = request.empty() ? name : name + "/" + request;
    if (!request.empty()) rules.dns_label(claim["request"]);
    const bool overlaps =
        request.empty() && std::ranges::any_of(taken, [&](const std::string& other) {
          return other.starts_with(name + "/");
        });
    if (taken.contains(name) || taken.contains(key) || overlaps)
      rules.causes.push_back(
          duplicate_value(claim.path(), json::Value(taken.contains(name) ? name : key)));
    taken.insert(key);
    if (known.contains(name)) continue;
    Cause unknown = not_found_value(claim.path(), json::Value(name));
    unknown.message += ": must be one of the names in pod.spec.resourceClaims";
    unknown.message +=
        known.empty() ? " which is empty" : ": " + join({known.begin(), known.end()}, ", ");
    rules.causes.push_back(std::move(unknown));
  }
}

void validate_pod_claims(const Field& claims, Rules& rules) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < claims.items().size(); ++i) {
    const Field claim = claims.at(i), name = claim["name"];
    if (rules.need_text(name) && rules.unique(names, name)) rules.dns_label(name);
    const Field direct = claim["resourceClaimName"], made = claim["resourceClaimTemplateName"];
    if (direct.present() && made.present())
      rules.invalid(
          claim,
          "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    if (!direct.present() && !made.present())
      rules.invalid(claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    for (const Field* given : {&direct, &made})
      if (given->present()) rules.dns_subdomain(*given);
  }
}

// Block devices: claims that appear as files, apart from those that are mounted.
void validate_devices(const Field& container, const Field& volumes,
                      const std::set<std::string>& names, Rules& rules) {
  const Field devices = container["volumeDevices"], mounts = container["volumeMounts"];
  std::set<std::string> seen, paths;
  for (std::size_t i = 0; i < devices.items().size(); ++i) {
    const Field name = devices.at(i)["name"], path = devices.at(i)["devicePath"];
    rules.need_text(name);
    if (seen.contains(std::string(name.text()))) rules.invalid(name, "must be unique");
    const auto volume = std::ranges::find_if(volumes.items(), [&](const json::Value& one) {
      return json::string_at(one, {"name"}) == name.text();
    });
    if (!names.contains(std::string(name.text())) || volume == volumes.items().end())
      rules.causes.push_back(not_found_value(name.path(), json::Value(name.text())));
    else if (!json::find(*volume, "persistentVolumeClaim") && !json::find(*volume, "ephemeral"))
      rules.invalid(
          name,
          "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    rules.need_text(path);
    if (!paths.insert(std::string(path.text())).second) rules.invalid(path, "must be unique");
    for (const json::Value& mount : mounts.items()) {
      if (json::string_at(mount, {"name"}) == name.text())
        rules.invalid(name, "must not already exist in volumeMounts");
      if (json::string_at(mount, {"mountPath"}) == path.text())
        rules.invalid(path, "must not already exist as a path in volumeMounts");
    }
    if (!name.text().empty()) seen.emplace(name.text());
  }
}

void validate_container(const Field& container, const Field& spec, bool is_pod,
                        const std::set<std::string>& volumes, Rules& rules) {
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
  validate_devices(container, spec["volumes"], volumes, rules);
  rules.one_of(container["imagePullPolicy"], {"Always", "IfNotPresent", "Never"}, true);
  validate_container_resources(container["resources"], rules);
  validate_claims(container["resources"]["claims"], spec["resourceClaims"], rules);
  validate_resize_policies(container["resizePolicy"], spec, rules);
  validate_container_security(container["securityContext"], rules);
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

// They look into a pod and are no part of what it does.
void validate_ephemeral(const Field& spec, std::set<std::string> names,
                        const std::set<std::string>& volumes, Rules& rules) {
  const std::set<std::string> targets = names;
  const Field containers = spec["ephemeralContainers"];
  constexpr std::string_view kRefused = "cannot be set for an Ephemeral Container";
  for (std::size_t i = 0; i < containers.items().size(); ++i) {
    const Field container = containers.at(i);
    validate_container(container, spec, true, volumes, rules);
    rules.unique(names, container["name"]);
    const std::string target(container["targetContainerName"].text());
    if (!target.empty() && !targets.contains(target))
      rules.not_found(container["targetContainerName"]);
    for (std::string_view member : {"ports", "resources", "resizePolicy", "restartPolicy",
                                    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"})
      if (const Field field = container[member];
          field.present() && !(field.value().is_object() && field.members().empty()))
        rules.forbidden(field, std::string(kRefused));
    for (std::size_t m = 0; m < container["volumeMounts"].items().size(); ++m)
      for (std::string_view member : {"subPath", "subPathExpr"})
        if (const Field path = container["volumeMounts"].at(m)[member]; !path.text().empty())
          rules.forbidden(path, std::string(kRefused));
  }
}

// In the host's network a container's port is the host's.
void check_host_network_ports(const Field& spec, bool is_pod, Rules& rules) {
  if (!spec["hostNetwork"].flag()) return;
  for (std::size_t i = 0; i < spec["containers"].items().size(); ++i) {
    const Field ports = spec["containers"].at(i)["ports"];
    for (std::size_t p = 0; p < ports.items().size(); ++p) {
      const std::int64_t host = ports.at(p)["hostPort"].number();
      if ((is_pod || host != 0) && host != ports.at(p)["containerPort"].number())
        rules.invalid(ports.at(p)["hostPort"], json::Value(host),
                      "must match `containerPort` when `hostNetwork` is true");
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
    validate_container(container, spec, is_pod, volumes, rules);
    if (!container["name"].text().empty()) rules.unique(names, container["name"]);
    validate_hooks(container, spec, true, rules);
    if (container["restartPolicy"].present())
      rules.forbidden(container["restartPolicy"], "may not be set for non-init containers");
  }
  check_host_ports(containers, rules);
  Field inits = spec["initContainers"];
  for (std::size_t i = 0; i < inits.items().size(); ++i) {
    Field container = inits.at(i);
    validate_container(container, spec, is_pod, volumes, rules);
    bool sidecar = container["restartPolicy"].text() == "Always";
    rules.one_of(container["restartPolicy"], {"Always"});
    if (!container["name"].text().empty()) rules.unique(names, container["name"]);
    validate_hooks(container, spec, sidecar, rules);
  }
  validate_ephemeral(spec, std::move(names), volumes, rules);
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
  const Field servers = config["nameservers"], searches = config["searches"],
              options = config["options"];
  if (servers.items().size() > 3) rules.invalid(servers, "must not have more than 3 nameservers");
  for (std::size_t i = 0; i < servers.items().size(); ++i) rules.ip(servers.at(i));
  if (searches.items().size() > 32)
    rules.invalid(searches, "must not have more than 32 search paths");
  for (std::size_t i = 0; i < options.items().size(); ++i)
    if (options.at(i)["name"].text().empty()) rules.required(options.at(i), "must not be empty");
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
  for (std::size_t i = 0; i < spec["readinessGates"].items().size(); ++i)
    rules.qualified_name(spec["readinessGates"].at(i)["conditionType"]);
  if (const Field os = spec["os"]; os.present() && rules.need_text(os["name"]))
    rules.one_of(Field(os["name"].value(), os.path()), {"linux", "windows"});
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

}  // namespace

void validate_pod_spec(const Field& spec, bool is_pod, Rules& rules) {
  std::set<std::string> volumes;
  validate_volumes(spec["volumes"], volumes, rules);
  validate_pod_claims(spec["resourceClaims"], rules);
  validate_containers(spec, is_pod, volumes, rules);
  validate_pod_resources(spec, rules);
  check_host_network_ports(spec, is_pod, rules);
  rules.one_of(spec["restartPolicy"], {"Always", "OnFailure", "Never"}, true);
  validate_dns(spec, rules);
  rules.labels(spec["nodeSelector"]);
  validate_pod_security(spec, rules);
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
