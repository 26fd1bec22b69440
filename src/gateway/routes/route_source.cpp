#include "gateway/routes/route_source.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "gateway/routes/virtual_service.h"

namespace hekla::gateway {
namespace {

using framework::AnyObject;
constexpr const char* kServiceLabel = "kubernetes.io/service-name";

std::string index_key(const kube::Key& service) { return service.ns + "/" + service.name; }

}  // namespace

RouteSource::RouteSource(kube::CacheSet& caches, std::function<bool(std::string_view)> owned)
    : owned_(std::move(owned)),
      events_(caches.client(), "istio-ingressgateway"),
      routes_(caches.of<AnyObject>(kVirtualServices, {.optional = true})),
      policies_(caches.of<AnyObject>(kAuthorizationPolicies, {.optional = true})),
      services_(caches.of<AnyObject>(kube::resources::services)),
      slices_(caches.of<AnyObject>(kube::resources::endpoint_slices)) {
  slices_by_service_ =
      slices_.add_index([](const AnyObject& slice, std::vector<std::string>& keys) {
        if (const std::string& service = slice.metadata.label(kServiceLabel); !service.empty())
          keys.push_back(index_key({slice.metadata.ns, service}));
      });
  routes_.on_change([this](const framework::AnyRef& before, const framework::AnyRef& after) {
    changed_ = true;
    if (after)
      read(*after);
    else
      known_.erase(framework::key_of(before->metadata));
  });
  policies_.on_change([this](const framework::AnyRef& before, const framework::AnyRef& after) {
    changed_ = true;
    if (after)
      read_policy_of(*after);
    else
      known_policies_.erase(framework::key_of(before->metadata));
  });
  for (auto* informer : {&services_, &slices_})
    informer->on_change([this](const auto&, const auto&) { changed_ = true; });
  for (auto* informer : {&routes_, &policies_, &services_, &slices_})
    informer->on_settled([this] { settle(); });
}

std::shared_ptr<const RouteTable> RouteSource::table() const {
  std::lock_guard lock(mutex_);
  return table_;
}

void RouteSource::warn(const kube::Resource& resource, const AnyObject& object,
                       const std::string& reason, const std::string& why) {
  kube::EventTarget target{resource.api_version(), resource.kind, object.metadata.ns,
                           object.metadata.name, object.metadata.uid};
  const std::string& version = object.metadata.resourceVersion;
  std::from_chars(version.data(), version.data() + version.size(), target.resource_version);
  events_.record(target, "Warning", reason, why);
}

void RouteSource::read_policy_of(const AnyObject& object) {
  const kube::Key key = framework::key_of(object.metadata);
  Result<Policy> policy = read_policy(object);
  if (!policy)
    warn(kAuthorizationPolicies, object, "PolicyNotUnderstood",
         "Nobody is let in to what it is about: " + policy.error().message);
  known_policies_[key] = std::make_shared<const Policy>(policy ? std::move(*policy)
                                                               : policy_against_everybody(object));
}

Policies RouteSource::policies_about(const kube::Key& service, const AnyObject& object) const {
  Policies found;
  const json::Object* selector = json::object_at(object.spec, {"selector"});
  for (const auto& [key, policy] : known_policies_)
    if ((key.ns == service.ns || key.ns == kRootNamespace) && selects(*policy, selector))
      found.push_back(policy);
  return found;
}

void RouteSource::read(const AnyObject& object) {
  const kube::Key key = framework::key_of(object.metadata);
  known_.erase(key);
  if (!is_for_us(object)) return;
  const auto refuse = [&](const AnyObject& ignored, const std::string& why) {
    warn(kVirtualServices, ignored, "RouteIgnored", why);
  };
  std::vector<std::string> remarks;
  Result<std::vector<Rule>> rules = rules_of_virtual_service(object, remarks);
  if (!rules) return refuse(object, "The route is ignored: " + rules.error().message);
  std::vector<Rule> good;
  for (Rule& rule : *rules) {
    if (const std::string why = trespass(rule, owned_); !why.empty())
      refuse(object, "A rule is ignored: it " + why);
    else
      good.push_back(std::move(rule));
  }
  for (const std::string& remark : remarks) refuse(object, remark);
  known_[key] = {key, object.metadata.creationTimestamp.at.value_or(WallTime{}),
                 std::make_shared<const std::vector<Rule>>(std::move(good))};
}

void RouteSource::tell_of_older(Known& known, const std::string& claim) {
  const auto object = routes_.get(known.key);
  if (!object || std::exchange(known.told, true)) return;
  warn(kVirtualServices, *object, "RouteIgnored",
       "A rule is never asked: an older VirtualService has " + claim);
}

// Older routes come first, as Istio merges them.
void RouteSource::settle() {
  if (!std::exchange(changed_, false)) return;
  std::vector<Known*> order;
  for (auto& [key, known] : known_) order.push_back(&known);
  std::ranges::stable_sort(order, {}, &Known::created);
  std::vector<RouteTable::Rules> rules;
  RouteTable::Backends backends;
  RouteTable::PoliciesOf policies;
  std::map<std::string, kube::Key> claimed;
  for (Known* known : order) {
    rules.push_back(known->rules);
    for (const Rule& rule : *known->rules) {
      for (const std::string& claim : unconditional_claims(rule))
        if (claimed.try_emplace(claim, known->key).first->second != known->key)
          tell_of_older(*known, claim);
      for (const Destination& to : rule.destinations)
        if (const auto service = services_.get(to.service)) {
          backends.try_emplace(
              {to.service, to.port},
              ready_backends(*service, slices_.by(slices_by_service_, index_key(to.service)),
                             to.port));
          policies.try_emplace(to.service, policies_about(to.service, *service));
        }
    }
  }
  auto table = std::make_shared<const RouteTable>(std::move(rules), std::move(backends),
                                                  std::move(policies));
  std::lock_guard lock(mutex_);
  table_ = std::move(table);
}

}  // namespace hekla::gateway
