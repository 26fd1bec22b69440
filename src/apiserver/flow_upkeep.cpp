#include "apiserver/flow_upkeep.h"

#include <atomic>
#include <set>

#include "apiserver/flow_bootstrap.h"
#include "apiserver/storage.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kManager = "api-priority-and-fairness-config-consumer-v1";
constexpr std::string_view kFlowGroup = "flowcontrol.apiserver.k8s.io";

// The condition the schema should have; its time is that of the last change.
json::Value dangling_condition(const std::string& level, bool exists, WallTime now) {
  std::string message =
      "This FlowSchema references the PriorityLevelConfiguration object named \"" + level + "\" ";
  message += exists ? "and it exists" : "but there is no such object";
  return json::Object{{"type", "Dangling"},
                      {"status", exists ? "False" : "True"},
                      {"lastTransitionTime", model::format_rfc3339(now)},
                      {"reason", exists ? "Found" : "NotFound"},
                      {"message", std::move(message)}};
}

bool says_already(const json::Value& schema, const json::Value& wanted) {
  const json::Array* conditions = json::array_at(schema, {"status", "conditions"});
  if (!conditions) return false;
  for (const json::Value& one : *conditions)
    if (json::string_at(one, {"type"}) == "Dangling")
      return json::string_at(one, {"status"}) == json::string_at(wanted, {"status"}) &&
             json::string_at(one, {"message"}) == json::string_at(wanted, {"message"});
  return false;
}

}  // namespace

struct FlowUpkeep::State : std::enable_shared_from_this<State> {
  store::Store& store;
  Registry& registry;
  Writes& writes;
  Executor& loop;
  std::atomic<bool> scheduled{false};
  bool ended = false;
  std::vector<std::unique_ptr<store::Store::Subscription>> subscriptions;

  State(store::Store& s, Registry& r, Writes& w, Executor& l) : store(s), registry(r), writes(w), loop(l) {}

  ServedPtr served(std::string_view plural) const {
    return registry.catalog()->find(kFlowGroup, "v1", plural);
  }

  // Any thread.
  void wake() {
    if (scheduled.exchange(true)) return;
    loop.post([weak = weak_from_this()] {
      std::shared_ptr<State> self = weak.lock();
      if (!self || self->ended) return;
      self->scheduled = false;
      self->look();
    });
  }

  void look() {
    const ServedPtr schemas = served("flowschemas"), levels = served("prioritylevelconfigurations");
    const store::Snapshot snapshot = store.snapshot();
    std::set<std::string> known;
    snapshot.scan(levels->bucket, "", "", [&](const store::ItemPtr& item) {
      known.insert(item->key);
      return true;
    });
    std::vector<WriteRequest> requests;
    restore(snapshot, requests);
    snapshot.scan(schemas->bucket, "", "", [&](const store::ItemPtr& item) {
      const json::Value schema = decode_object(*schemas, *item);
      const std::string level(json::string_at(schema, {"spec", "priorityLevelConfiguration", "name"}));
      json::Value condition = dangling_condition(level, known.contains(level), loop.clock().wall());
      if (says_already(schema, condition)) return true;
      WriteRequest request = request_for(schemas, item->key);
      request.verb = WriteRequest::Verb::patch;
      request.patch_type = kube::PatchType::apply;
      request.force = true;
      request.subresource = "status";
      request.body =
          json::Object{{"apiVersion", schemas->kind->resource.api_version()},
                       {"kind", "FlowSchema"},
                       {"metadata", json::Object{{"name", item->key}}},
                       {"status", json::Object{{"conditions", json::Array{std::move(condition)}}}}};
      requests.push_back(std::move(request));
      return true;
    });
    // What fails (a schema that went meanwhile) wakes us again by itself.
    if (!requests.empty()) writes.run(std::move(requests), loop, [](std::vector<WriteOutcome>) {});
  }

  // Without these two of each kind nothing would hold at all.
  void restore(const store::Snapshot& snapshot, std::vector<WriteRequest>& requests) const {
    for (json::Value& object : bootstrap_flows()) {
      const std::string name(json::string_at(object, {"metadata", "name"}));
      if (name != "exempt" && name != "catch-all") continue;
      const ServedPtr kind = served(
          json::string_at(object, {"kind"}) == "FlowSchema" ? "flowschemas" : "prioritylevelconfigurations");
      if (snapshot.get(kind->bucket, name)) continue;
      WriteRequest request = request_for(kind, name);
      request.body = std::move(object);
      requests.push_back(std::move(request));
    }
  }

  static WriteRequest request_for(const ServedPtr& served, const std::string& name) {
    WriteRequest request;
    request.served = served;
    request.key = {"", name};
    request.field_manager = kManager;
    request.user = {"system:apiserver", "", {"system:masters"}};
    return request;
  }
};

FlowUpkeep::FlowUpkeep(store::Store& store, Registry& registry, Writes& writes, Executor& loop)
    : state_(std::make_shared<State>(store, registry, writes, loop)) {}

FlowUpkeep::~FlowUpkeep() {
  state_->ended = true;
  state_->subscriptions.clear();
}

void FlowUpkeep::start() {
  for (std::string_view plural : {"flowschemas", "prioritylevelconfigurations"})
    state_->subscriptions.push_back(
        state_->store.subscribe(state_->served(plural)->bucket, [weak = std::weak_ptr<State>(state_)] {
          if (std::shared_ptr<State> self = weak.lock()) self->wake();
        }));
  state_->wake();
}

}  // namespace hekla::apiserver
