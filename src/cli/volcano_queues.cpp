#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "base/clock.h"
#include "cli/cluster.h"
#include "cli/volcano.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

std::string fitted(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

// Phase counts of each queue's pod groups.
using GroupCounts = std::map<std::string, std::map<std::string, int>>;
Result<GroupCounts> count_groups(ApiSession& session) {
  kube::Resource everywhere = kube::resources::pod_groups;
  everywhere.namespaced = false;
  json::Value list = TRY(session.call("GET", ApiSession::path_of(everywhere, "")));
  GroupCounts counts;
  if (const json::Array* groups = json::array_at(list, {"items"}))
    for (const json::Value& group : *groups)
      ++counts[json::text_at(group, {"spec", "queue"})][json::text_at(group, {"status", "phase"})];
  return counts;
}

const kube::Resource& flow_kind(const FlowOptions& options) {
  return options.is_template ? kube::resources::job_templates : kube::resources::job_flows;
}

Result<std::vector<json::Value>> flow_manifests(const FlowOptions& options) {
  if (options.file.empty()) return fail(Code::bad_request, "name a file with -f");
  std::vector<json::Value> objects;
  for (Manifest& manifest : TRY(read_manifests({options.file}))) {
    if (json::text_at(manifest.object, {"kind"}) != flow_kind(options).kind)
      return fail(Code::bad_request, manifest.file + ":" + std::to_string(manifest.line) +
                                         ": not a " + flow_kind(options).kind);
    if (json::text_at(manifest.object, {"metadata", "namespace"}).empty())
      json::at_path(manifest.object, {"metadata", "namespace"}) = options.ns;
    objects.push_back(std::move(manifest.object));
  }
  return objects;
}

// The one with a name, or all.
Result<std::vector<json::Value>> flow_objects(ApiSession& session, const FlowOptions& options) {
  kube::Resource where = flow_kind(options);
  if (options.all_namespaces) where.namespaced = false;
  json::Value answer =
      TRY(session.call("GET", ApiSession::path_of(where, options.ns, options.name)));
  std::vector<json::Value> objects;
  if (json::array_at(answer, {"items"})) {
    for (json::Value& item : json::at_path(answer, {"items"}).get_array()) {
      item.get_object()["apiVersion"] = flow_kind(options).api_version();
      item.get_object()["kind"] = flow_kind(options).kind;
      objects.push_back(std::move(item));
    }
  } else {
    objects.push_back(std::move(answer));
  }
  return objects;
}

}  // namespace

Result<void> create_queue(ApiSession& session, const QueueOptions& options) {
  if (options.state != "Open" && options.state != "Closed")
    return fail(Code::bad_request,
                "state " + options.state + " invalid, a queue is Open or Closed");
  json::Object queue{{"apiVersion", kube::resources::queues.api_version()},
                     {"kind", kube::resources::queues.kind},
                     {"metadata", json::Object{{"name", options.name}}},
                     {"spec", json::Object{{"weight", options.weight}}}};
  TRY(session.call("POST", ApiSession::path_of(kube::resources::queues, ""),
                   json::serialize(queue)));
  if (options.state == "Open") return {};
  // A status that is sent with a new queue is dropped; vcctl's closed queues are open.
  QueueOptions closing = options;
  closing.action = "close";
  return operate_queue(session, closing);
}

Result<void> delete_queue(ApiSession& session, const QueueOptions& options) {
  if (options.name.empty()) return fail(Code::bad_request, "queue name must be specified");
  TRY(session.call("DELETE", ApiSession::path_of(kube::resources::queues, "", options.name)));
  return {};
}

Result<void> operate_queue(ApiSession& session, const QueueOptions& options) {
  if (options.name.empty()) return fail(Code::bad_request, "queue name must be specified");
  std::string path = ApiSession::path_of(kube::resources::queues, "", options.name);
  if (options.action == "update") {
    if (options.weight <= 0)
      return fail(Code::bad_request, "when update queue, weight must be specified and must be > 0");
    json::Object patch{{"spec", json::Object{{"weight", options.weight}}}};
    TRY(session.call("PATCH", path, json::serialize(patch), "application/merge-patch+json"));
    return {};
  }
  if (options.action != "open" && options.action != "close")
    return fail(Code::bad_request, options.action.empty()
                                       ? "action can not be null"
                                       : "action " + options.action +
                                             " invalid, valid actions are open, close and update");
  json::Value queue = TRY(session.call("GET", path));
  std::string action = options.action == "open" ? "OpenQueue" : "CloseQueue";
  json::Object target{{"apiVersion", kube::resources::queues.api_version()},
                      {"kind", kube::resources::queues.kind},
                      {"name", options.name},
                      {"uid", json::text_at(queue, {"metadata", "uid"})},
                      {"controller", true},
                      {"blockOwnerDeletion", true}};
  json::Object metadata{{"generateName", options.name + "-" + options.action + "queue-"},
                        {"namespace", "default"},
                        {"ownerReferences", json::Array{target}}};
  json::Object command{{"apiVersion", kube::resources::commands.api_version()},
                       {"kind", kube::resources::commands.kind},
                       {"metadata", std::move(metadata)},
                       {"action", action},
                       {"target", target}};
  TRY(session.call("POST", ApiSession::path_of(kube::resources::commands, "default"),
                   json::serialize(command)));
  return {};
}

Result<void> list_queues(ApiSession& session, const std::string& name, bool short_form) {
  std::vector<json::Value> queues;
  json::Value answer =
      TRY(session.call("GET", ApiSession::path_of(kube::resources::queues, "", name)));
  if (const json::Array* items = json::array_at(answer, {"items"}))
    queues.assign(items->begin(), items->end());
  else
    queues.push_back(std::move(answer));
  if (queues.empty()) {
    std::puts("No resources found");
    return {};
  }
  GroupCounts counts = TRY(count_groups(session));
  auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (short_form && (i == 3 || i == 8)) continue;  // no Parent, no Completed
      text += fitted(cells[i], i == 0 ? 25 : 8);
    }
    std::puts(text.c_str());
  };
  line({"Name", "Weight", "State", "Parent", "Inqueue", "Pending", "Running", "Unknown",
        "Completed"});
  for (const json::Value& queue : queues) {
    auto& phases = counts[json::text_at(queue, {"metadata", "name"})];
    auto count = [&](const char* phase) { return std::to_string(phases[phase]); };
    line({json::text_at(queue, {"metadata", "name"}),
          std::to_string(json::int_at(queue, {"spec", "weight"})),
          json::text_at(queue, {"status", "state"}), json::text_at(queue, {"spec", "parent"}),
          count("Inqueue"), count("Pending"), count("Running"), count("Unknown"),
          count("Completed")});
  }
  return {};
}

Result<void> create_flow(ApiSession& session, const FlowOptions& options) {
  for (const json::Value& object : TRY(flow_manifests(options))) {
    std::string ns = json::text_at(object, {"metadata", "namespace"});
    TRY(session.call("POST", ApiSession::path_of(flow_kind(options), ns), json::serialize(object)));
    std::printf("Created %s: %s/%s\n", flow_kind(options).kind.c_str(), ns.c_str(),
                json::text_at(object, {"metadata", "name"}).c_str());
  }
  return {};
}

Result<void> delete_flow(ApiSession& session, const FlowOptions& options) {
  std::vector<kube::Key> keys;
  if (!options.file.empty())
    for (const json::Value& object : TRY(flow_manifests(options)))
      keys.push_back({json::text_at(object, {"metadata", "namespace"}),
                      json::text_at(object, {"metadata", "name"})});
  else if (!options.name.empty())
    keys.push_back({options.ns, options.name});
  else
    return fail(Code::bad_request, "a name or a file is needed");
  std::optional<Error> failed;
  for (const kube::Key& key : keys) {
    Result<json::Value> gone =
        session.call("DELETE", ApiSession::path_of(flow_kind(options), key.ns, key.name));
    if (!gone) {
      if (failed) std::fprintf(stderr, "hekla: %s\n", failed->message.c_str());
      failed = gone.error();
      continue;
    }
    std::printf("Deleted %s: %s/%s\n", flow_kind(options).kind.c_str(), key.ns.c_str(),
                key.name.c_str());
  }
  if (failed) return std::unexpected(*failed);
  return {};
}

Result<void> list_flows(ApiSession& session, const FlowOptions& options) {
  std::vector<json::Value> objects = TRY(flow_objects(session, options));
  if (objects.empty()) {
    std::puts("No resources found");
    return {};
  }
  std::vector<std::vector<std::string>> rows{{"Name", "Namespace"}};
  if (!options.is_template) rows[0].insert(rows[0].end(), {"Phase", "Age"});
  for (const json::Value& object : objects) {
    rows.push_back({json::text_at(object, {"metadata", "name"}),
                    json::text_at(object, {"metadata", "namespace"})});
    if (options.is_template) continue;
    Result<WallTime> made =
        model::parse_rfc3339(json::text_at(object, {"metadata", "creationTimestamp"}));
    rows.back().push_back(json::text_at(object, {"status", "state", "phase"}));
    rows.back().push_back(made ? model::human_duration(real_clock().wall() - *made) : "");
  }
  std::fputs(columns(rows).c_str(), stdout);
  return {};
}

Result<void> describe_flow(ApiSession& session, const FlowOptions& options) {
  std::string text;
  for (json::Value& object : TRY(flow_objects(session, options))) {
    json::at_path(object, {"metadata"}).get_object().erase("managedFields");
    if (!text.empty()) text += "\n\n";
    text +=
        options.output == "json" ? json::serialize_pretty(object, 2) + "\n" : json::to_yaml(object);
  }
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace hekla::cli
