#include "apiserver/server/flow_bootstrap.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace hekla::apiserver {

namespace {

constexpr std::string_view kFlowVersion = "flowcontrol.apiserver.k8s.io/v1";

json::Value flow_object(std::string_view kind, std::string_view name, json::Object spec) {
  return json::Object{
      {"apiVersion", kFlowVersion},
      {"kind", kind},
      {"metadata",
       json::Object{{"name", name},
                    {"annotations", json::Object{{"apf.kubernetes.io/autoupdate-spec", "true"}}}}},
      {"spec", std::move(spec)}};
}

// Without queues a level refuses what is too much.
struct Level {
  std::string_view name;
  int shares, lendable, queues, hand;
};
constexpr Level kLevels[]{
    {"catch-all", 5, 0, 0, 0},          {"system", 30, 33, 64, 6},
    {"node-high", 40, 25, 64, 6},       {"leader-election", 10, 0, 16, 4},
    {"workload-high", 40, 50, 128, 6},  {"workload-low", 100, 90, 128, 6},
    {"global-default", 20, 50, 128, 6},
};
constexpr int kQueueLength = 50;

json::Value level_object(const Level& level) {
  json::Object response{{"type", level.queues > 0 ? "Queue" : "Reject"}};
  if (level.queues > 0)
    response.emplace("queuing", json::Object{{"queues", level.queues},
                                             {"handSize", level.hand},
                                             {"queueLengthLimit", kQueueLength}});
  json::Object limited{{"nominalConcurrencyShares", level.shares},
                       {"limitResponse", std::move(response)},
                       {"lendablePercent", level.lendable}};
  return flow_object("PriorityLevelConfiguration", level.name,
                     {{"type", "Limited"}, {"limited", std::move(limited)}});
}

json::Value exempt_level() {
  return flow_object(
      "PriorityLevelConfiguration", "exempt",
      {{"type", "Exempt"},
       {"exempt", json::Object{{"nominalConcurrencyShares", 0}, {"lendablePercent", 0}}}});
}

json::Array text_list(std::initializer_list<std::string_view> list) {
  json::Array out;
  for (std::string_view one : list) out.emplace_back(one);
  return out;
}

json::Value group_subject(std::string_view name) {
  return json::Object{{"kind", "Group"}, {"group", json::Object{{"name", name}}}};
}
json::Value user_subject(std::string_view name) {
  return json::Object{{"kind", "User"}, {"user", json::Object{{"name", name}}}};
}
json::Value system_accounts() {
  return json::Object{
      {"kind", "ServiceAccount"},
      {"serviceAccount", json::Object{{"namespace", "kube-system"}, {"name", "*"}}}};
}

json::Value resource_rule(std::initializer_list<std::string_view> verbs, std::string_view api_group,
                          std::initializer_list<std::string_view> resources, bool cluster_scope) {
  json::Object rule{{"verbs", text_list(verbs)},
                    {"apiGroups", text_list({api_group})},
                    {"resources", text_list(resources)}};
  if (cluster_scope) rule.emplace("clusterScope", true);
  rule.emplace("namespaces", text_list({"*"}));
  return rule;
}
json::Value path_rule(std::initializer_list<std::string_view> verbs,
                      std::initializer_list<std::string_view> paths) {
  return json::Object{{"verbs", text_list(verbs)}, {"nonResourceURLs", text_list(paths)}};
}

struct FlowRule {
  std::string_view name, level;
  int precedence;
  std::string_view distinguisher;  // ByUser, ByNamespace or none
  json::Array subjects, resources, paths;
};

// Rules for everything that these subjects do.
FlowRule everything(std::string_view name, std::string_view level, int precedence,
                    std::string_view distinguisher, json::Array subjects) {
  return {name,
          level,
          precedence,
          distinguisher,
          std::move(subjects),
          json::Array{resource_rule({"*"}, "*", {"*"}, true)},
          json::Array{path_rule({"*"}, {"*"})}};
}

json::Value schema_object(FlowRule schema) {
  json::Object rule{{"subjects", std::move(schema.subjects)}};
  if (!schema.resources.empty()) rule.emplace("resourceRules", std::move(schema.resources));
  if (!schema.paths.empty()) rule.emplace("nonResourceRules", std::move(schema.paths));
  json::Object spec{{"priorityLevelConfiguration", json::Object{{"name", schema.level}}},
                    {"matchingPrecedence", schema.precedence}};
  if (!schema.distinguisher.empty())
    spec.emplace("distinguisherMethod", json::Object{{"type", schema.distinguisher}});
  spec.emplace("rules", json::Array{json::Value(std::move(rule))});
  return flow_object("FlowSchema", schema.name, std::move(spec));
}

std::vector<FlowRule> schemas() {
  const json::Value anonymous = group_subject("system:unauthenticated"),
                    known = group_subject("system:authenticated");
  const json::Value manager = user_subject("system:kube-controller-manager"),
                    scheduler = user_subject("system:kube-scheduler");
  const json::Value nodes = group_subject("system:nodes");
  std::vector<FlowRule> all;
  all.push_back(everything("exempt", "exempt", 1, "", {group_subject("system:masters")}));
  all.push_back(everything("catch-all", "catch-all", 10000, "ByUser", {anonymous, known}));
  all.push_back(everything("system-nodes", "system", 500, "ByUser", {nodes}));
  all.push_back({"system-node-high",
                 "node-high",
                 400,
                 "ByUser",
                 {nodes},
                 {resource_rule({"*"}, "", {"nodes", "nodes/status"}, true),
                  resource_rule({"*"}, "coordination.k8s.io", {"leases"}, false)},
                 {}});
  all.push_back({"probes",
                 "exempt",
                 2,
                 "",
                 {anonymous, known},
                 {},
                 {path_rule({"get"}, {"/healthz", "/readyz", "/livez"})}});
  all.push_back(
      {"system-leader-election",
       "leader-election",
       100,
       "ByUser",
       {manager, scheduler, system_accounts()},
       {resource_rule({"get", "create", "update"}, "coordination.k8s.io", {"leases"}, false)},
       {}});
  all.push_back(
      everything("kube-controller-manager", "workload-high", 800, "ByNamespace", {manager}));
  all.push_back(everything("kube-scheduler", "workload-high", 800, "ByNamespace", {scheduler}));
  all.push_back(everything("kube-system-service-accounts", "workload-high", 900, "ByNamespace",
                           {system_accounts()}));
  all.push_back(everything("service-accounts", "workload-low", 9000, "ByUser",
                           {group_subject("system:serviceaccounts")}));
  all.push_back(everything("global-default", "global-default", 9900, "ByUser", {anonymous, known}));
  return all;
}

}  // namespace

std::vector<json::Value> bootstrap_flows() {
  std::vector<json::Value> objects{exempt_level()};
  for (const Level& level : kLevels) objects.push_back(level_object(level));
  for (FlowRule& schema : schemas()) objects.push_back(schema_object(std::move(schema)));
  return objects;
}

}  // namespace hekla::apiserver
