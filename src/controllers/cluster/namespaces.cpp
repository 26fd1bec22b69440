#include "controllers/cluster/namespaces.h"

#include <algorithm>

#include "controllers/framework/caches.h"
#include "controllers/framework/writes.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
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
  std::string phase;
};
BOOST_DESCRIBE_STRUCT(NamespaceStatus, (), (phase))
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
  std::size_t remaining = 0;
};

}  // namespace

struct Namespaces::State : std::enable_shared_from_this<State> {
  kube::Client& client;
  kube::Discovery& discovery;
  std::string root_ca_pem;
  kube::Informer<Namespace> namespaces;
  kube::Informer<MetadataOnly> accounts, config_maps;
  kube::ReconcileLoop loop;
  std::map<std::string, std::shared_ptr<Emptying>> emptying;

  State(kube::Client& c, kube::Discovery& d, std::string ca)
      : client(c),
        discovery(d),
        root_ca_pem(std::move(ca)),
        namespaces(c, kube::resources::namespaces),
        accounts(c, kube::resources::service_accounts, {{}, {}, "metadata.name=default"}),
        config_maps(c, kube::resources::config_maps, {{}, {}, "metadata.name=kube-root-ca.crt"}),
        loop(
            c, kube::ReconcileOptions{.name = "namespace"},
            [this](const kube::Key& key, WallTime) { return reconcile(key.name); },
            [this](const kube::Write& write, const kube::ObjectPtr& result) {
              overlay(namespaces, write, result);
              overlay(accounts, write, result);
              overlay(config_maps, write, result);
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

  kube::Round reconcile(const std::string& name) {
    auto found = namespaces.get({"", name});
    if (!found) return {};
    return found->metadata.deletionTimestamp ? empty(*found) : furnish(name);
  }

  kube::Round furnish(const std::string& name) {
    kube::Round round;
    if (!accounts.get({name, "default"}))
      round.writes.push_back(create(
          kube::resources::service_accounts, name,
          json::Object{{"apiVersion", "v1"},
                       {"kind", "ServiceAccount"},
                       {"metadata", json::Object{{"name", "default"}, {"namespace", name}}}}));
    if (!config_maps.get({name, "kube-root-ca.crt"}))
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
  kube::Round empty(const Namespace& ending) {
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
    if (done->failed || done->remaining > 0) {
      round.writes = std::move(done->removals);
      round.again_after = kAgain;
      round.settle = [](const std::vector<kube::WriteResult>&) { return Result<void>{}; };
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
    bool pods = resource == kube::resources::pods;
    for (const kube::ObjectPtr& object : list.items) {
      pass.remaining++;
      Result<MetadataOnly> decoded = json::decode_text<MetadataOnly>(*object->json);
      if (decoded && decoded->metadata.deletionTimestamp) continue;
      kube::Write removal = remove(resource, {object->ns, object->name}, object->uid);
      removal.propagation_policy = "Background";  // everything goes: nothing is left to orphan
      pass.removals.insert(pods ? pass.removals.begin() : pass.removals.end(), std::move(removal));
    }
  }
};

Namespaces::Namespaces(kube::Client& client, kube::Discovery& discovery, std::string root_ca_pem)
    : state_(std::make_shared<State>(client, discovery, std::move(root_ca_pem))) {}

Namespaces::~Namespaces() = default;

void Namespaces::start() { state_->start(); }

}  // namespace hekla::controllers
