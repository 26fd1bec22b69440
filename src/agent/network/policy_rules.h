// NetworkPolicies as nftables rules of the pods' parent namespace, through which every packet from
// one pod to another is routed. Pure text; PodNetwork puts it in force.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "model/core.h"
#include "model/selector.h"

namespace hekla::agent {

struct NetworkPolicySpec {
  json::Value podSelector;
  std::vector<std::string> policyTypes;
  std::vector<json::Value> ingress, egress;
};
BOOST_DESCRIBE_STRUCT(NetworkPolicySpec, (), (podSelector, policyTypes, ingress, egress))
struct NetworkPolicy {
  model::ObjectMeta metadata;
  NetworkPolicySpec spec;
};
BOOST_DESCRIBE_STRUCT(NetworkPolicy, (), (metadata, spec))

struct NamespaceLabels {
  model::ObjectMeta metadata;
};
BOOST_DESCRIBE_STRUCT(NamespaceLabels, (), (metadata))

struct PolicyInput {
  struct Pod {
    std::string address;
    const model::Pod* pod = nullptr;
  };
  std::vector<const NetworkPolicy*> policies;
  std::map<std::string, model::Labels> namespaces;
  std::vector<Pod> pods;  // those with an address
  // Where names are answered. To peers it looks like the pod that answers them in other clusters,
  // for that is how policies say "names may be asked for": k8s-app=kube-dns in kube-system.
  std::string dns_address;
  // uids of policies that nft does not take: they isolate the pods they select, and let nothing
  // through.
  std::set<std::string> refused;
};

// Whether the pod is one that the policy restricts.
bool isolates(const NetworkPolicy& policy, const model::Pod& pod);

// The whole table, replacing the one before in one step. Selectors that cannot be read select
// nothing.
std::string policy_rules(const PolicyInput& input);

}  // namespace hekla::agent
