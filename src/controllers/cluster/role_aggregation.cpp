#include "controllers/cluster/role_aggregation.h"

#include <algorithm>

#include "controllers/vocabulary.h"
#include "kube/reconcile.h"
#include "model/meta.h"
#include "model/selector.h"

namespace hekla::controllers {
namespace {

const kube::Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole",
                                   false};

struct ClusterRoleAggregation {
  std::vector<json::Value> clusterRoleSelectors;
};
BOOST_DESCRIBE_STRUCT(ClusterRoleAggregation, (), (clusterRoleSelectors))
struct AggregatedClusterRole {
  model::ObjectMeta metadata;
  std::optional<ClusterRoleAggregation> aggregationRule;
  std::vector<json::Value> rules;
};
BOOST_DESCRIBE_STRUCT(AggregatedClusterRole, (), (metadata, aggregationRule, rules))
using RoleRef = std::shared_ptr<const AggregatedClusterRole>;

bool selects(const json::Value& selector, const AggregatedClusterRole& role) {
  Result<model::Selector> parsed = model::Selector::from_label_selector(selector);
  return parsed && !parsed->empty() && parsed->matches(role.metadata.labels);
}

bool same_rules(const json::Array& a, const std::vector<json::Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const json::Value& x, const json::Value& y) { return json::equal(x, y); });
}

}  // namespace

struct RoleAggregation::State {
  kube::Informer<AggregatedClusterRole>& roles;
  kube::ReconcileLoop loop;

  explicit State(kube::CacheSet& caches)
      : roles(caches.of<AggregatedClusterRole>(kClusterRoles)),
        loop(caches, {.name = "clusterrole-aggregation"},
             [this](const kube::Key& key, WallTime) { return reconcile(key.name); }) {
    roles.on_change([this](const RoleRef&, const RoleRef&) { look_at_all(); });
    caches.on_synced([this] { loop.enable(); });
  }

  // Few roles aggregate and roles change rarely; finding out which ones are concerned is not worth
  // it.
  void look_at_all() {
    roles.for_each([this](const RoleRef& role) {
      if (role->aggregationRule) loop.add({"", role->metadata.name});
    });
  }

  kube::Round reconcile(const std::string& name) {
    RoleRef target = roles.get({"", name});
    kube::Round round;
    if (!target || !target->aggregationRule || target->metadata.deletionTimestamp) return round;
    json::Array rules;
    for (const json::Value& selector : target->aggregationRule->clusterRoleSelectors)
      roles.for_each([&](const RoleRef& role) {
        if (role->metadata.name == name || !selects(selector, *role)) return;
        for (const json::Value& rule : role->rules) {
          bool known = std::any_of(rules.begin(), rules.end(),
                                   [&](const json::Value& one) { return json::equal(one, rule); });
          if (!known) rules.push_back(rule);
        }
      });
    if (!same_rules(rules, target->rules))
      round.writes.push_back(
          merge_patch(kClusterRoles, {"", name}, json::Object{{"rules", std::move(rules)}}));
    return round;
  }
};

RoleAggregation::RoleAggregation(kube::CacheSet& caches)
    : state_(std::make_unique<State>(caches)) {}
RoleAggregation::~RoleAggregation() = default;

}  // namespace hekla::controllers
