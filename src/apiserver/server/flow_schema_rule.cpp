#include "apiserver/server/flow_schema_rule.h"

#include "apiserver/object/storage.h"
#include "apiserver/server/flow_bootstrap.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

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

WriteRequest say(const ServedPtr& schemas, const std::string& name, json::Value condition) {
  WriteRequest request = own_write(schemas, name);
  request.verb = WriteRequest::Verb::patch;
  request.patch_type = kube::PatchType::apply;
  request.force = true;
  request.subresource = "status";
  request.body =
      json::Object{{"apiVersion", schemas->kind->resource.api_version()},
                   {"kind", "FlowSchema"},
                   {"metadata", json::Object{{"name", name}}},
                   {"status", json::Object{{"conditions", json::Array{std::move(condition)}}}}};
  return request;
}

// Without these two of each kind nothing would hold at all.
void restore(const ServedPtr& schemas, const ServedPtr& levels, const store::Snapshot& snapshot,
             std::vector<WriteRequest>& requests) {
  for (json::Value& object : bootstrap_flows()) {
    const std::string name(json::string_at(object, {"metadata", "name"}));
    if (name != "exempt" && name != "catch-all") continue;
    const ServedPtr& kind = json::string_at(object, {"kind"}) == "FlowSchema" ? schemas : levels;
    if (snapshot.get(kind->bucket, name)) continue;
    WriteRequest request = own_write(kind, name);
    request.body = std::move(object);
    requests.push_back(std::move(request));
  }
}

std::vector<WriteRequest> look(const Catalog& catalog, const store::Snapshot& snapshot,
                               WallTime now) {
  const ServedPtr schemas = catalog.find(kFlowGroup, "v1", "flowschemas");
  const ServedPtr levels = catalog.find(kFlowGroup, "v1", "prioritylevelconfigurations");
  std::vector<WriteRequest> requests;
  restore(schemas, levels, snapshot, requests);
  snapshot.scan(schemas->bucket, "", "", [&](const store::ItemPtr& item) {
    const json::Value schema = decode_object(*schemas, *item);
    const std::string level(
        json::string_at(schema, {"spec", "priorityLevelConfiguration", "name"}));
    json::Value condition =
        dangling_condition(level, snapshot.get(levels->bucket, level) != nullptr, now);
    if (!has_condition_like(schema, condition, "message"))
      requests.push_back(say(schemas, item->key, std::move(condition)));
    return true;
  });
  return requests;
}

}  // namespace

ReconcileRule flow_schema_rule() {
  const std::string group(kFlowGroup);
  return {{{group, "v1", "flowschemas", ""}, {group, "v1", "prioritylevelconfigurations", ""}},
          "api-priority-and-fairness-config-consumer-v1",
          look};
}

}  // namespace hekla::apiserver
