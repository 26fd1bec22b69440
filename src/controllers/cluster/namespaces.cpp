#include "controllers/cluster/namespaces.h"

#include <algorithm>
#include <map>

#include "controllers/vocabulary.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "model/core.h"
#include "model/time.h"

namespace hekla::controllers {
namespace {

constexpr std::string_view kFinalizer = "kubernetes";
constexpr Nanos kAgain = std::chrono::milliseconds(250);

struct NamespaceSpec {
  std::vector<std::string> finalizers;
};
BOOST_DESCRIBE_STRUCT(NamespaceSpec, (), (finalizers))
struct NamespaceStatus {
  json::Value conditions;
};
BOOST_DESCRIBE_STRUCT(NamespaceStatus, (), (conditions))
struct Namespace {
  model::ObjectMeta metadata;
  NamespaceSpec spec;
  NamespaceStatus status;
};
BOOST_DESCRIBE_STRUCT(Namespace, (), (metadata, spec, status))

// The content of one ending namespace, gathered by list calls over every kind.
struct Emptying {
  std::size_t open_lists = 0;
  bool failed = false;
  std::vector<kube::Write> removals;
  std::size_t pods = 0;                           // they go before everything else
  std::map<std::string, std::size_t> remaining;   // "pods." and how many
  std::map<std::string, std::size_t> finalizers;  // and on how many objects
};

struct ConditionText {
  std::string_view type;
  bool bad;
  std::string_view reason;
  std::string message;
};

std::string counted(const std::map<std::string, std::size_t>& counts, std::string_view between) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + name + std::string(between) + std::to_string(count) +
            " resource instances";
  return text;
}

// What kubectl describe tells of a namespace that does not go.
std::vector<ConditionText> ending_conditions(const Emptying& pass,
                                             const std::vector<std::string>& failures) {
  std::vector<ConditionText> all;
  all.push_back({"NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
                 "All resources successfully discovered"});
  all.push_back({"NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
                 "All legacy kube types successfully parsed"});
  std::string text;
  for (const std::string& one : failures) text += (text.empty() ? "" : ", ") + one;
  if (failures.size() > 1) text = "[" + text + "]";
  if (failures.empty())
    all.push_back({"NamespaceDeletionContentFailure", false, "ContentDeleted",
                   "All content successfully deleted, may be waiting on finalization"});
  else
    all.push_back({"NamespaceDeletionContentFailure", true, "ContentDeletionFailed",
                   "Failed to delete all resource types, " + std::to_string(failures.size()) +
                       " remaining: " + text});
  if (pass.remaining.empty())
    all.push_back(
        {"NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed"});
  else
    all.push_back({"NamespaceContentRemaining", true, "SomeResourcesRemain",
                   "Some resources are remaining: " + counted(pass.remaining, " has ")});
  if (pass.finalizers.empty())
    all.push_back({"NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
                   "All content-preserving finalizers finished"});
  else
    all.push_back({"NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
                   "Some content in the namespace has finalizers remaining: " +
                       counted(pass.finalizers, " in ")});
  return all;
}

json::Array with_conditions(const json::Value& old, const std::vector<ConditionText>& wanted,
                            WallTime now) {
  json::Array list = old.is_array() ? old.get_array() : json::Array{};
  for (const ConditionText& one : wanted) {
    json::Object made{{"type", one.type},
                      {"status", one.bad ? "True" : "False"},
                      {"lastTransitionTime", model::format_rfc3339(now)},
                      {"reason", one.reason},
                      {"message", one.message}};
    auto same = std::find_if(list.begin(), list.end(), [&](const json::Value& other) {
      return json::string_at(other, {"type"}) == one.type;
    });
    if (same == list.end()) {
      list.push_back(std::move(made));
      continue;
    }
    if (json::string_at(*same, {"status"}) == json::sv(made["status"].get_string()))
      made["lastTransitionTime"] = json::string_at(*same, {"lastTransitionTime"});
    *same = std::move(made);
  }
  return list;
}

}  // namespace

struct Namespaces::State : std::enable_shared_from_this<State> {
  kube::Client& client;
  kube::Discovery& discovery;
  std::string root_ca_pem;
  kube::Informer<Namespace> namespaces;
  kube::Informer<MetadataOnly> accounts;
  kube::Informer<model::ConfigMap> config_maps;
  kube::ReconcileLoop loop;
  std::map<std::string, std::shared_ptr<Emptying>> emptying;
  std::map<std::string, std::vector<std::string>> failures;  // of the last removals, by namespace

  State(kube::Client& c, kube::Discovery& d, std::string ca)
      : client(c),
        discovery(d),
        root_ca_pem(std::move(ca)),
        namespaces(c, kube::resources::namespaces),
        accounts(c, kube::resources::service_accounts, {{}, {}, "metadata.name=default"}),
        config_maps(c, kube::resources::config_maps, {{}, {}, "metadata.name=kube-root-ca.crt"}),
        loop(
            c, kube::ReconcileOptions{.name = "namespace"},
            [this](const kube::Key& key, WallTime now) { return reconcile(key.name, now); },
            [this](const kube::Write& write, const kube::ObjectPtr& result) {
              namespaces.overlay(write, result);
              accounts.overlay(write, result);
              config_maps.overlay(write, result);
            }) {}

  void start() {
    namespaces.on_change([this](const auto& before, const auto& after) {
      loop.add({"", (after ? after : before)->metadata.name});
    });
    auto content_changed = [this](const auto& before, const auto& after) {
      loop.add({"", (after ? after : before)->metadata.ns});
    };
    accounts.on_change(content_changed);
    config_maps.on_change(content_changed);
    auto enable = [this] {
      if (namespaces.synced() && accounts.synced() && config_maps.synced()) loop.enable();
    };
    namespaces.on_settled(enable);
    accounts.on_settled(enable);
    config_maps.on_settled(enable);
    namespaces.start();
    accounts.start();
    config_maps.start();
  }

  kube::Round reconcile(const std::string& name, WallTime now) {
    auto found = namespaces.get({"", name});
    if (!found) {
      failures.erase(name);
      return {};
    }
    return found->metadata.deletionTimestamp ? empty(*found, now) : furnish(name);
  }

  kube::Round furnish(const std::string& name) {
    kube::Round round;
    if (!accounts.get({name, "default"}))
      round.writes.push_back(create(
          kube::resources::service_accounts, name,
          json::Object{{"apiVersion", "v1"},
                       {"kind", "ServiceAccount"},
                       {"metadata", json::Object{{"name", "default"}, {"namespace", name}}}}));
    auto root = config_maps.get({name, "kube-root-ca.crt"});
    if (root) {
      json::Object data;  // what must change
      for (const auto& [key, text] : root->data)
        if (key != "ca.crt") data[key] = nullptr;
      if (auto own = root->data.find("ca.crt");
          own == root->data.end() || own->second != root_ca_pem)
        data["ca.crt"] = root_ca_pem;
      if (!data.empty())
        round.writes.push_back(merge_patch(kube::resources::config_maps, {name, "kube-root-ca.crt"},
                                           json::Object{{"data", std::move(data)}}));
    }
    if (!root)
      round.writes.push_back(
          create(kube::resources::config_maps, name,
                 json::Object{
                     {"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", json::Object{{"name", "kube-root-ca.crt"}, {"namespace", name}}},
                     {"data", json::Object{{"ca.crt", root_ca_pem}}}}));
    return round;
  }

  // One pass: list everything, delete what is there, look again; when nothing is left, let go.
  kube::Round empty(const Namespace& ending, WallTime now) {
    const std::string& name = ending.metadata.name;
    auto& pass = emptying[name];
    if (!pass) {
      pass = std::make_shared<Emptying>();
      begin_pass(name, pass);
      return {};
    }
    if (pass->open_lists > 0) return {};
    std::shared_ptr<Emptying> done = std::exchange(pass, nullptr);
    emptying.erase(name);
    kube::Round round;
    // While there are pods, they are all that is looked at.
    if (done->pods > 0)
      std::erase_if(done->remaining, [](const auto& one) { return one.first != "pods."; });
    if (done->failed || !done->remaining.empty()) {
      round.writes = std::move(done->removals);
      const std::size_t removals = round.writes.size();
      json::Array conditions =
          with_conditions(ending.status.conditions, ending_conditions(*done, failures[name]), now);
      if (!json::equal(ending.status.conditions, conditions))
        round.writes.push_back(merge_patch(
            kube::resources::namespaces, {"", name},
            json::Object{{"status", json::Object{{"conditions", std::move(conditions)}}}},
            "status"));
      round.again_after = kAgain;
      round.settle = [this, name, removals](const std::vector<kube::WriteResult>& results) {
        std::vector<std::string>& failed = failures[name];
        failed.clear();
        for (std::size_t i = 0; i < removals; ++i)
          if (!results[i] && results[i].error().code != Code::not_found &&
              results[i].error().code != Code::conflict)
            failed.push_back(results[i].error().message);
        return Result<void>{};
      };
      return round;
    }
    json::Array finalizers;
    for (const std::string& finalizer : ending.spec.finalizers)
      if (finalizer != kFinalizer) finalizers.emplace_back(std::string_view(finalizer));
    if (finalizers.size() == ending.spec.finalizers.size()) return round;
    round.writes.push_back(merge_patch(
        kube::resources::namespaces, {"", name},
        json::Object{{"spec", json::Object{{"finalizers", std::move(finalizers)}}}}, "finalize"));
    return round;
  }

  void begin_pass(const std::string& name, const std::shared_ptr<Emptying>& pass) {
    std::vector<kube::Resource> all = discovery.resources();
    std::erase_if(all, [](const kube::Resource& resource) { return !resource.namespaced; });
    pass->open_lists = all.size();
    for (const kube::Resource& resource : all)
      client.list(resource, {name, {}, {}},
                  [weak = weak_from_this(), pass, resource, name](Result<kube::List> list) {
                    auto self = weak.lock();
                    if (!self) return;
                    if (!list && list.error().code != Code::not_found) pass->failed = true;
                    if (list) self->note(*pass, resource, *list);
                    if (--pass->open_lists == 0) self->loop.add({"", name});
                  });
  }

  void note(Emptying& pass, const kube::Resource& resource, const kube::List& list) {
    if (list.items.empty()) return;
    const bool pods = resource == kube::resources::pods;
    // Upstream's spelling of a resource and its group, the core group being empty.
    pass.remaining[resource.plural + "." + resource.group] += list.items.size();
    if (pods && pass.pods == 0) pass.removals.clear();
    if (pods) pass.pods = list.items.size();
    for (const kube::ObjectPtr& object : list.items) {
      Result<MetadataOnly> decoded = json::decode_text<MetadataOnly>(*object->json);
      if (decoded && decoded->metadata.deletionTimestamp) {
        for (const std::string& finalizer : decoded->metadata.finalizers)
          ++pass.finalizers[finalizer];
        continue;
      }
      if (!pods && pass.pods > 0) continue;
      kube::Write removal = remove(resource, {object->ns, object->name}, object->uid);
      removal.propagation_policy = "Background";  // everything goes: nothing is left to orphan
      pass.removals.push_back(std::move(removal));
    }
  }
};

Namespaces::Namespaces(kube::Client& client, kube::Discovery& discovery, std::string root_ca_pem)
    : state_(std::make_shared<State>(client, discovery, std::move(root_ca_pem))) {}

Namespaces::~Namespaces() = default;

void Namespaces::start() { state_->start(); }

}  // namespace hekla::controllers
