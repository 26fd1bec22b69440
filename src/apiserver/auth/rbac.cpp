#include "apiserver/auth/rbac.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>

#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::array<const char*, 4> kRbacPlurals{"roles", "clusterroles", "rolebindings",
                                                  "clusterrolebindings"};

struct RbacSubject {
  char kind = 'u';  // 'g' for a group; service accounts are users
  std::string name;
  std::string text;  // `Group "x"`
};

struct RbacBinding {
  std::string ns, name;
  std::string role_kind, role_name;
  std::vector<RbacSubject> subjects;
};

struct RbacRole {
  std::vector<PolicyRule> rules;
};

RbacSubject parse_subject(const json::Value& subject, const std::string& ns) {
  const std::string_view kind = json::string_at(subject, {"kind"});
  std::string name(json::string_at(subject, {"name"}));
  std::string text = std::string(kind) + " \"" + name;
  if (kind != "ServiceAccount") return {kind == "Group" ? 'g' : 'u', std::move(name), text + "\""};
  std::string home(json::string_at(subject, {"namespace"}));
  if (home.empty()) home = ns;
  text += "/" + home + "\"";
  return {'u', "system:serviceaccount:" + home + ":" + name, std::move(text)};
}

std::shared_ptr<const RbacBinding> parse_binding(const json::Value& object) {
  auto binding = std::make_shared<RbacBinding>();
  binding->ns = json::string_at(object, {"metadata", "namespace"});
  binding->name = json::string_at(object, {"metadata", "name"});
  binding->role_kind = json::string_at(object, {"roleRef", "kind"});
  binding->role_name = json::string_at(object, {"roleRef", "name"});
  if (const json::Array* subjects = json::array_at(object, {"subjects"}))
    for (const json::Value& one : *subjects)
      binding->subjects.push_back(parse_subject(one, binding->ns));
  return binding;
}

struct RbacGrant {
  std::shared_ptr<const RbacRole> role;  // null: the binding names a role that does not exist
  std::shared_ptr<const RbacBinding> binding;
  std::size_t subject = 0;
};

std::string grant_key(std::string_view ns, char kind, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + name.size() + 2);
  key.append(ns) += '\n';
  key += kind;
  key.append(name);
  return key;
}

std::string allowed_by(const RbacGrant& grant) {
  const RbacBinding& binding = *grant.binding;
  std::string where = binding.ns.empty()
                          ? "ClusterRoleBinding \"" + binding.name + "\""
                          : "RoleBinding \"" + binding.name + "/" + binding.ns + "\"";
  return "RBAC: allowed by " + where + " of " + binding.role_kind + " \"" + binding.role_name +
         "\" to " + binding.subjects[grant.subject].text;
}

}  // namespace

struct RbacAuthorizer::Policy {
  std::uint64_t reflects = 0;
  // By namespace (empty: everywhere), then subject.
  boost::unordered_flat_map<std::string, std::vector<RbacGrant>> grants;

  // Calls `visit(grant)` for all that apply in `ns` and everywhere until it returns true.
  template <class Visit>
  bool any_grant(const kube::UserInfo& user, const std::string& ns, Visit visit) const {
    auto in = [&](std::string_view scope) {
      auto of = [&](char kind, std::string_view name) {
        auto found = grants.find(grant_key(scope, kind, name));
        if (found == grants.end()) return false;
        for (const RbacGrant& grant : found->second)
          if (visit(grant)) return true;
        return false;
      };
      if (of('u', user.name)) return true;
      for (const std::string& group : user.groups)
        if (of('g', group)) return true;
      return false;
    };
    return in("") || (!ns.empty() && in(ns));
  }
};

// Keeps what it has parsed, so that a change costs the parsing of what changed.
class RbacAuthorizer::Compiler {
 public:
  explicit Compiler(const Registry& registry) {
    const CatalogPtr catalog = registry.catalog();
    for (std::size_t i = 0; i < kRbacPlurals.size(); ++i)
      kinds_[i] = catalog->find(kRbacGroup, "v1", kRbacPlurals[i]);
  }
  const ServedPtr& kind(std::size_t i) const { return kinds_[i]; }

  std::shared_ptr<const Policy> compile(const store::Snapshot& snapshot, std::uint64_t reflects) {
    auto parse_role = [](const json::Value& object) {
      return std::make_shared<const RbacRole>(RbacRole{parse_policy_rules(object)});
    };
    update(snapshot, *kinds_[0], roles_, parse_role);
    update(snapshot, *kinds_[1], cluster_roles_, parse_role);
    update(snapshot, *kinds_[2], bindings_, parse_binding);
    update(snapshot, *kinds_[3], cluster_bindings_, parse_binding);
    auto policy = std::make_shared<Policy>();
    policy->reflects = reflects;
    for (const auto& [key, entry] : cluster_bindings_) add(*policy, entry.value);
    for (const auto& [key, entry] : bindings_) add(*policy, entry.value);
    return policy;
  }

 private:
  template <class T>
  struct Parsed {
    store::Revision modified = 0;
    std::shared_ptr<const T> value;
  };
  template <class T>
  using ParsedMap = std::map<std::string, Parsed<T>, std::less<>>;

  template <class T, class Parse>
  static void update(const store::Snapshot& snapshot, const ServedKind& served, ParsedMap<T>& all,
                     Parse parse) {
    ParsedMap<T> next;
    snapshot.scan(served.bucket, "", "", [&](const store::ItemPtr& item) {
      auto known = all.find(item->key);
      if (known != all.end() && known->second.modified == item->modified)
        next.emplace_hint(next.end(), item->key, std::move(known->second));
      else
        next.emplace_hint(next.end(), item->key,
                          Parsed<T>{item->modified, parse(decode_object(served, *item))});
      return true;
    });
    all = std::move(next);
  }

  void add(Policy& policy, const std::shared_ptr<const RbacBinding>& binding) const {
    std::shared_ptr<const RbacRole> role;
    if (binding->role_kind == "ClusterRole") {
      if (auto found = cluster_roles_.find(binding->role_name); found != cluster_roles_.end())
        role = found->second.value;
    } else if (auto found = roles_.find(binding->ns + "/" + binding->role_name);
               found != roles_.end()) {
      role = found->second.value;
    }
    for (std::size_t i = 0; i < binding->subjects.size(); ++i) {
      const RbacSubject& subject = binding->subjects[i];
      policy.grants[grant_key(binding->ns, subject.kind, subject.name)].push_back(
          {role, binding, i});
    }
  }

  std::array<ServedPtr, 4> kinds_;
  ParsedMap<RbacRole> roles_, cluster_roles_;
  ParsedMap<RbacBinding> bindings_, cluster_bindings_;
};

RbacAuthorizer::RbacAuthorizer(store::Store& store, const Registry& registry)
    : store_(store), compiler_(std::make_unique<Compiler>(registry)) {
  for (std::size_t i = 0; i < subscriptions_.size(); ++i)
    subscriptions_[i] = store_.subscribe(compiler_->kind(i)->bucket, [this] { ++changes_; });
}

RbacAuthorizer::~RbacAuthorizer() = default;

std::shared_ptr<const RbacAuthorizer::Policy> RbacAuthorizer::policy() const {
  std::lock_guard lock(mutex_);
  const std::uint64_t changes = changes_.load();
  if (!policy_ || policy_->reflects != changes)
    policy_ = compiler_->compile(store_.snapshot(), changes);
  return policy_;
}

bool RbacAuthorizer::allows(const kube::UserInfo& user, const RequestInfo& request,
                            std::string* why) const {
  if (in_group(user, "system:masters")) return true;
  static const std::string kEverywhere;
  const std::string& ns = request.is_resource ? request.ns : kEverywhere;
  std::vector<std::string> problems;
  const bool allowed = policy()->any_grant(user, ns, [&](const RbacGrant& grant) {
    if (!grant.role) {
      if (why)
        problems.push_back((grant.binding->role_kind == "ClusterRole" ? "clusterrole" : "role") +
                           std::string(".rbac.authorization.k8s.io \"") + grant.binding->role_name +
                           "\" not found");
      return false;
    }
    for (const PolicyRule& rule : grant.role->rules)
      if (rule_allows(rule, request)) {
        if (why) *why = allowed_by(grant);
        return true;
      }
    return false;
  });
  if (allowed || !why || problems.empty()) return allowed;
  *why = "RBAC: ";
  if (problems.size() > 1) *why += "[";
  for (std::size_t i = 0; i < problems.size(); ++i) *why += (i > 0 ? ", " : "") + problems[i];
  if (problems.size() > 1) *why += "]";
  return false;
}

std::vector<PolicyRule> RbacAuthorizer::rules_of(const kube::UserInfo& user,
                                                 const std::string& ns) const {
  if (in_group(user, "system:masters"))
    return {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}};
  std::vector<PolicyRule> rules;
  policy()->any_grant(user, ns, [&](const RbacGrant& grant) {
    if (grant.role) rules.insert(rules.end(), grant.role->rules.begin(), grant.role->rules.end());
    return false;
  });
  return rules;
}

}  // namespace hekla::apiserver
