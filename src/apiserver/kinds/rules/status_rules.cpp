#include "apiserver/kinds/rules/status_rules.h"

#include <algorithm>

#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "model/formats.h"

namespace hekla::apiserver {
namespace {

using Names = std::initializer_list<std::string_view>;

void check_counts(const Field& status, Names counts, Rules& rules) {
  for (std::string_view count : counts) rules.not_negative(status[count]);
}

// Of so many pods no more can be updated, ready or available.
void check_parts(const Field& status, Names parts, std::string_view of_ready, Rules& rules) {
  for (std::string_view part : parts)
    if (status[part].number() > status["replicas"].number())
      rules.invalid(status[part], "cannot be greater than status.replicas");
  if (const Field available = status["availableReplicas"];
      available.number() > status["readyReplicas"].number())
    rules.invalid(available, "cannot be greater than " + std::string(of_ready));
}

void check_collisions(const Field& now, const Field& before, Rules& rules) {
  if (now["collisionCount"].number() < before["collisionCount"].number())
    rules.invalid(now["collisionCount"], json::Value(now["collisionCount"].number()),
                  "cannot be decremented");
}

void check_addresses(const Field& all, Rules& rules) {
  for (std::size_t i = 0; i < all.items().size(); ++i) {
    const json::Value address(all.at(i)["ip"].text());
    rules.ip(Field(address, all.at(i).path()));
  }
  if (all.items().size() < 2) return;
  const bool both = all.items().size() == 2 && model::is_ipv4(all.at(0)["ip"].text()) !=
                                                   model::is_ipv4(all.at(1)["ip"].text());
  if (!both) rules.invalid(all, "may specify no more than one IP for each IP family");
}

void check_claims(const Field& statuses, const Field& claims, Rules& rules) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < statuses.items().size(); ++i) {
    const Field name = statuses.at(i)["name"];
    const bool known = std::ranges::any_of(claims.items(), [&](const json::Value& claim) {
      return json::string_at(claim, {"name"}) == name.text();
    });
    if (!known)
      rules.invalid(name, json::Value(name.text()),
                    "must match the name of an entry in `spec.resourceClaims`");
    if (!seen.insert(std::string(name.text())).second) rules.duplicate(name);
  }
}

void check_pod(const Field& pod, const Field& old, Rules& rules) {
  const Field status = pod["status"], before = old["status"], conditions = status["conditions"];
  for (std::size_t i = 0; i < conditions.items().size(); ++i) {
    const json::Value type(conditions.at(i)["type"].text());
    rules.qualified_name(Field(type, conditions.at(i).path() + ".Type"));
  }
  if (const Field node = status["nominatedNodeName"];
      !node.text().empty() && !same(node, before["nominatedNodeName"]))
    rules.dns_subdomain(node);
  if (status["observedGeneration"].number() < 0)
    rules.invalid(status["observedGeneration"], "must be a non-negative integer");
  if (const Field qos = status["qosClass"];
      !qos.text().empty() && !before["qosClass"].text().empty())
    rules.immutable(qos, before["qosClass"]);
  check_claims(status["resourceClaimStatuses"], pod["spec"]["resourceClaims"], rules);
  check_addresses(status["podIPs"], rules);
  const Field hosts = status["hostIPs"];
  if (!hosts.items().empty() && hosts.at(0)["ip"].text() != status["hostIP"].text())
    rules.invalid(hosts.at(0)["ip"], json::Value(hosts.at(0)["ip"].text()),
                  "must be equal to `hostIP`");
  check_addresses(hosts, rules);
}

void check_ingress(const Field& status, bool modes, Rules& rules) {
  const Field ingress = status["loadBalancer"]["ingress"];
  for (std::size_t i = 0; i < ingress.items().size(); ++i) {
    const Field one = ingress.at(i), address = one["ip"], host = one["hostname"],
                mode = one["ipMode"];
    if (!address.text().empty()) rules.ip(address);
    if (modes && mode.present() && address.text().empty())
      rules.forbidden(mode, "may not be specified when `ip` is not set");
    else if (modes && mode.present() && mode.text() != "VIP" && mode.text() != "Proxy")
      rules.unsupported(mode, {"Proxy", "VIP"});
    if (host.text().empty()) continue;
    rules.dns_subdomain(host);
    if (model::is_ipv4(host.text()) || model::is_ipv6(host.text()))
      rules.invalid(host, "must be a DNS name, not an IP address");
  }
}

}  // namespace

std::vector<Cause> validate_status(const kube::Resource& resource, const json::Value& object,
                                   const json::Value& old) {
  Rules rules;
  const Field whole(object, ""), previous(old, ""), status = whole["status"],
                                                    before = previous["status"];
  const std::string kind =
      resource.group.empty() ? resource.plural : resource.group + "/" + resource.plural;
  if (kind == "pods") {
    check_pod(whole, previous, rules);
  } else if (kind == "apps/deployments") {
    check_counts(status,
                 {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
                  "availableReplicas", "unavailableReplicas", "collisionCount"},
                 rules);
    check_parts(status, {"updatedReplicas", "readyReplicas", "availableReplicas"}, "readyReplicas",
                rules);
    check_collisions(status, before, rules);
  } else if (kind == "apps/replicasets" || kind == "replicationcontrollers") {
    check_counts(status,
                 {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                  "observedGeneration"},
                 rules);
    check_parts(status, {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
                "readyReplicas", rules);
  } else if (kind == "apps/statefulsets") {
    check_counts(status,
                 {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                  "availableReplicas", "observedGeneration", "collisionCount"},
                 rules);
    check_parts(status,
                {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"},
                "status.readyReplicas", rules);
    check_collisions(status, before, rules);
  } else if (kind == "apps/daemonsets") {
    check_counts(status,
                 {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                  "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable",
                  "numberUnavailable", "collisionCount"},
                 rules);
    check_collisions(status, before, rules);
  } else if (kind == "autoscaling/horizontalpodautoscalers") {
    check_counts(status, {"currentReplicas", "desiredReplicas"}, rules);
  } else if (kind == "services" || kind == "networking.k8s.io/ingresses") {
    check_ingress(status, kind == "services", rules);
  }
  return std::move(rules.causes);
}

}  // namespace hekla::apiserver
