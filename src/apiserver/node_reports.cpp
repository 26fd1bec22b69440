// What the node agent knows and nobody stores: metrics.k8s.io, and the logs of gone pods
// (logs.hekla.io).
#include "apiserver/errors.h"
#include "apiserver/reads.h"
#include "apiserver/render.h"
#include "apiserver/rest_handler.h"
#include "apiserver/storage.h"
#include "model/selector.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kMetrics = "metrics.k8s.io/v1beta1", kLogs = "logs.hekla.io/v1alpha1";

std::string window_text(Nanos window) {
  return std::to_string(std::chrono::duration<double>(window).count()) + "s";
}

json::Object usage_value(std::int64_t nanocores, std::int64_t memory_bytes) {
  return {{"cpu", std::to_string(nanocores) + "n"},
          {"memory", std::to_string(memory_bytes / 1024) + "Ki"}};
}

json::Object list_value(std::string_view api_version, std::string_view kind, json::Array items) {
  return {{"kind", kind},
          {"apiVersion", api_version},
          {"metadata", json::Object{}},
          {"items", std::move(items)}};
}

// The labels of the object that is measured; nothing when it is gone.
std::optional<json::Object> labels_of(const Exchange& exchange, std::string_view plural,
                                      const kube::Key& key) {
  ServedPtr served = exchange.serving.registry->catalog()->find("", "v1", plural);
  Result<store::ItemPtr> item = get_object(*exchange.serving.store, *served, key);
  if (!item) return std::nullopt;
  json::Value object = decode_object(*served, **item);
  const json::Value* labels = json::find_path(object, {"metadata", "labels"});
  return labels && labels->is_object() ? labels->as_object() : json::Object{};
}

json::Object metadata_of(const kube::Key& key, WallTime at, json::Object labels) {
  json::Object metadata{{"name", key.name}};
  if (!key.ns.empty()) metadata.emplace("namespace", key.ns);
  metadata.emplace("creationTimestamp", model::format_rfc3339(at));
  if (!labels.empty()) metadata.emplace("labels", std::move(labels));
  return metadata;
}

bool selects(const model::Selector& selector, const json::Object& labels) {
  model::Labels plain;
  for (const auto& [key, value] : labels)
    if (value.is_string()) plain.emplace(key, value.as_string());
  return selector.matches(plain);
}

json::Array node_metrics(const Exchange& exchange, const model::Selector& selector,
                         const kube::NodeUsage& usage) {
  json::Array items;
  std::optional<json::Object> labels = labels_of(exchange, "nodes", {"", usage.node});
  if (!labels || !selects(selector, *labels)) return items;
  items.push_back(json::Object{{"kind", "NodeMetrics"},
                               {"apiVersion", kMetrics},
                               {"metadata", metadata_of({"", usage.node}, usage.at, *labels)},
                               {"timestamp", model::format_rfc3339(usage.at)},
                               {"window", window_text(usage.window)},
                               {"usage", usage_value(usage.cpu_nanocores, usage.memory_bytes)}});
  return items;
}

json::Array pod_metrics(const Exchange& exchange, const model::Selector& selector,
                        const kube::NodeUsage& usage) {
  json::Array items;
  for (const kube::PodUsage& pod : usage.pods) {
    if (!exchange.info.ns.empty() && exchange.info.ns != pod.ns) continue;
    std::optional<json::Object> labels = labels_of(exchange, "pods", {pod.ns, pod.name});
    if (!labels || !selects(selector, *labels)) continue;
    json::Array containers;
    for (const kube::ContainerUsage& one : pod.containers)
      containers.push_back(json::Object{
          {"name", one.name}, {"usage", usage_value(one.cpu_nanocores, one.memory_bytes)}});
    items.push_back(json::Object{{"kind", "PodMetrics"},
                                 {"apiVersion", kMetrics},
                                 {"metadata", metadata_of({pod.ns, pod.name}, usage.at, *labels)},
                                 {"timestamp", model::format_rfc3339(usage.at)},
                                 {"window", window_text(pod.window)},
                                 {"containers", std::move(containers)}});
  }
  return items;
}

json::Object kept_log_value(const kube::KeptLog& log) {
  json::Array containers;
  for (const std::string& name : log.containers) containers.emplace_back(name);
  json::Object owner{{"apiVersion", log.job.apiVersion}, {"kind", log.job.kind},
                     {"name", log.job.name},             {"uid", log.job.uid},
                     {"controller", true}};
  json::Object metadata = metadata_of({log.ns, log.pod}, log.ended, {});
  json::Array owners;
  owners.push_back(std::move(owner));
  metadata.emplace("uid", log.uid);
  metadata.emplace("ownerReferences", std::move(owners));
  return {{"kind", "PodLog"},
          {"apiVersion", kLogs},
          {"metadata", std::move(metadata)},
          {"containers", std::move(containers)},
          {"bytes", log.bytes}};
}

void serve_metrics(const ExchangePtr& exchange, kube::PodStreams& streams,
                   model::Selector selector) {
  streams.usage([exchange, selector = std::move(selector)](Result<kube::NodeUsage> usage) {
    if (!usage) return exchange->respond(usage.error());
    const RequestInfo& info = exchange->info;
    const bool pods = info.plural == "pods";
    json::Array items = pods ? pod_metrics(*exchange, selector, *usage)
                             : node_metrics(*exchange, selector, *usage);
    if (info.verb == "list")
      return exchange->respond(render_value(
          list_value(kMetrics, pods ? "PodMetricsList" : "NodeMetricsList", std::move(items)),
          exchange->answer, 200));
    for (const json::Value& item : items)
      if (json::string_at(item, {"metadata", "name"}) == info.name)
        return exchange->respond(render_value(item, exchange->answer, 200));
    exchange->respond(
        not_found_error({"metrics.k8s.io", "v1beta1", info.plural, "", pods}, info.name));
  });
}

void serve_kept_logs(const ExchangePtr& exchange, kube::PodStreams& streams) {
  streams.kept_logs(exchange->info.ns, [exchange](Result<std::vector<kube::KeptLog>> logs) {
    if (!logs) return exchange->respond(logs.error());
    json::Array items;
    for (const kube::KeptLog& log : *logs) items.push_back(kept_log_value(log));
    exchange->respond(
        render_value(list_value(kLogs, "PodLogList", std::move(items)), exchange->answer, 200));
  });
}

// Whether the request can be answered at all.
Result<model::Selector> check_report(Exchange& exchange, bool get_allowed) {
  const RequestInfo& info = exchange.info;
  if (!info.subresource.empty()) return std::unexpected(no_such_resource_error());
  if (info.verb != "list" && !(get_allowed && info.verb == "get"))
    return std::unexpected(
        method_error({info.group, info.version, info.plural, "", true}, info.verb));
  if (!exchange.serving.pod_streams.load())
    return fail(Code::unavailable, "the node agent has not started yet");
  exchange.answer = TRY(negotiate(exchange.request));
  return model::Selector::parse(exchange.request.query.get("labelSelector"));
}

}  // namespace

bool serve_node_report(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  const std::string version = info.group + "/" + info.version;
  const bool metrics = version == kMetrics && (info.plural == "pods" || info.plural == "nodes");
  const bool logs = version == kLogs && info.plural == "podlogs";
  if (!metrics && !logs) return false;
  if (!exchange->serving.registry->catalog()->node_reports()) return false;
  Result<model::Selector> selector = check_report(*exchange, metrics);
  if (!selector) {
    exchange->respond(selector.error());
    return true;
  }
  kube::PodStreams& streams = *exchange->serving.pod_streams.load();
  if (metrics)
    serve_metrics(exchange, streams, std::move(*selector));
  else
    serve_kept_logs(exchange, streams);
  return true;
}

}  // namespace hekla::apiserver
