#include "controllers/cluster/quota_status.h"

#include <map>
#include <set>

#include "controllers/vocabulary.h"
#include "json/parse.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "model/quota.h"

namespace hekla::controllers {
namespace {

constexpr Nanos kRecount = std::chrono::minutes(5);

struct Quota {
  model::ObjectMeta metadata;
  json::Value spec, status;
};
BOOST_DESCRIBE_STRUCT(Quota, (), (metadata, spec, status))

// One count of one quota. It holds for the revision of the quota it began with: whatever is charged
// meanwhile changes the quota, and the write at the end is refused.
struct Count {
  json::Value quota;
  std::string revision;
  model::ResourceList hard, used;
  std::size_t open = 0;
  std::optional<Error> error;
};

json::Value list_json(const model::ResourceList& list) {
  json::Object object;
  for (const auto& [name, quantity] : list) object[name] = quantity.to_json();
  return object;
}

// A merge patch that makes `old` into `wanted`.
json::Value map_patch(const json::Value* old, const model::ResourceList& wanted) {
  json::Value patch = list_json(wanted);
  if (old && old->is_object())
    for (const auto& member : old->get_object())
      if (!wanted.contains(std::string(member.key()))) patch.get_object()[member.key()] = nullptr;
  return patch;
}

}  // namespace

struct QuotaStatus::State : std::enable_shared_from_this<State> {
  kube::Client& client;
  kube::Discovery& discovery;
  kube::Informer<Quota> quotas;
  kube::ReconcileLoop loop;
  std::map<kube::Key, std::shared_ptr<Count>> counts;
  std::map<kube::Key, MonoTime> due;  // the next count, changes apart

  State(kube::Client& c, kube::Discovery& d)
      : client(c),
        discovery(d),
        quotas(c, kube::resources::resource_quotas),
        loop(
            c, kube::ReconcileOptions{.name = "resourcequota"},
            [this](const kube::Key& key, WallTime) { return reconcile(key); },
            [this](const kube::Write& write, const kube::ObjectPtr& result) {
              quotas.overlay(write, result);
            }) {}

  void start() {
    quotas.on_change([this](const auto& before, const auto& after) {
      const model::ObjectMeta& metadata = (after ? after : before)->metadata;
      loop.add({metadata.ns, metadata.name});
    });
    quotas.on_settled([this] {
      if (quotas.synced()) loop.enable();
    });
    quotas.start();
  }

  kube::Round reconcile(const kube::Key& key) {
    auto quota = quotas.get(key);
    if (!quota || quota->metadata.deletionTimestamp) {
      counts.erase(key);
      due.erase(key);
      return {};
    }
    auto found = counts.find(key);
    if (found != counts.end() && found->second->open > 0) return {};
    if (found != counts.end()) {
      std::shared_ptr<Count> count = std::move(found->second);
      counts.erase(found);
      return conclude(key, *count);
    }
    MonoTime now = client.executor().clock().mono();
    auto next = due.find(key);
    bool changed = model::resource_list_at(quota->spec, {"hard"}) !=
                   model::resource_list_at(quota->status, {"hard"});
    if (!changed && next != due.end() && now < next->second) return {};
    begin(key);
    return {};
  }

  void begin(const kube::Key& key) {
    auto count = std::make_shared<Count>();
    count->open = 1;
    counts[key] = count;
    client.get(kube::resources::resource_quotas, key,
               [weak = weak_from_this(), key, count](Result<kube::ObjectPtr> got) {
                 auto self = weak.lock();
                 if (!self) return;
                 Result<json::Value> quota =
                     got ? json::parse(*(*got)->json)
                         : Result<json::Value>(std::unexpected(got.error()));
                 if (quota)
                   self->count_kinds(key, count, std::move(*quota));
                 else
                   count->error = quota.error();
                 self->finished_one(key, *count);
               });
  }

  void count_kinds(const kube::Key& key, const std::shared_ptr<Count>& count, json::Value quota) {
    count->revision = json::string_at(quota, {"metadata", "resourceVersion"});
    count->quota = std::move(quota);
    count->hard = model::resource_list_at(count->quota, {"spec", "hard"});
    std::set<model::QuotaKind> kinds;
    for (const auto& [name, limit] : count->hard) {
      count->used[name] = model::Quantity::of(0, limit.format);
      kinds.insert(model::quota_kind_of(name));
    }
    for (const kube::Resource& resource : discovery.resources()) {
      model::QuotaKind kind{resource.group, resource.plural};
      if (!resource.namespaced || !kinds.contains(kind)) continue;
      ++count->open;
      client.list(resource, {key.ns, {}, {}},
                  [weak = weak_from_this(), key, count, kind](Result<kube::List> list) {
                    auto self = weak.lock();
                    if (!self) return;
                    if (list)
                      add_up(*count, kind, *list);
                    else
                      count->error = list.error();
                    self->finished_one(key, *count);
                  });
    }
  }

  static void add_up(Count& count, const model::QuotaKind& kind, const kube::List& list) {
    for (const kube::ObjectPtr& item : list.items) {
      Result<json::Value> object = json::parse(*item->json);
      if (!object || !model::quota_selects(count.quota, kind, *object)) continue;
      for (const auto& [name, quantity] : model::quota_usage(kind, *object))
        if (auto used = count.used.find(name); used != count.used.end()) used->second += quantity;
    }
  }

  void finished_one(const kube::Key& key, Count& count) {
    if (--count.open == 0) loop.add(key);
  }

  kube::Round conclude(const kube::Key& key, const Count& count) {
    kube::Round round;
    if (count.error) {
      if (count.error->code != Code::not_found) round.error = count.error;
      return round;
    }
    due[key] = client.executor().clock().mono() + kRecount;
    loop.add_after(key, kRecount);
    const json::Value* status = json::find(count.quota, "status");
    const json::Value* hard = status ? json::find(*status, "hard") : nullptr;
    const json::Value* used = status ? json::find(*status, "used") : nullptr;
    if (hard && used && json::equal(*hard, list_json(count.hard)) &&
        json::equal(*used, list_json(count.used)))
      return round;
    round.writes.push_back(
        merge_patch(kube::resources::resource_quotas, key,
                    json::Object{{"metadata", json::Object{{"resourceVersion", count.revision}}},
                                 {"status", json::Object{{"hard", map_patch(hard, count.hard)},
                                                         {"used", map_patch(used, count.used)}}}},
                    "status"));
    round.settle = [this, key](const std::vector<kube::WriteResult>& results) -> Result<void> {
      if (results.front()) return {};
      due.erase(key);  // something was charged meanwhile: count again
      if (results.front().error().code == Code::not_found) return {};
      return std::unexpected(results.front().error());
    };
    return round;
  }
};

QuotaStatus::QuotaStatus(kube::Client& client, kube::Discovery& discovery)
    : state_(std::make_shared<State>(client, discovery)) {}
QuotaStatus::~QuotaStatus() = default;
void QuotaStatus::start() { state_->start(); }

}  // namespace hekla::controllers
