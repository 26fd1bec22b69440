#include "apiserver/request/node_reports.h"

#include "apiserver/read/render.h"
#include "apiserver/request/node_metrics.h"
#include "apiserver/text/errors.h"
#include "model/selector.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kLogs = "logs.hekla.io/v1alpha1";

json::Object list_value(std::string_view api_version, std::string_view kind, json::Array items) {
  return {{"kind", kind},
          {"apiVersion", api_version},
          {"metadata", json::Object{}},
          {"items", std::move(items)}};
}

json::Object kept_log_value(const kube::KeptLog& log) {
  json::Array containers;
  for (const std::string& name : log.containers) containers.emplace_back(name);
  json::Object owner{{"apiVersion", log.job.apiVersion},
                     {"kind", log.job.kind},
                     {"name", log.job.name},
                     {"uid", log.job.uid},
                     {"controller", true}};
  json::Object metadata = report_metadata({log.ns, log.pod}, log.ended, {});
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
    const store::Store& store = *exchange->serving.store;
    const CatalogPtr catalog = exchange->serving.registry->catalog();
    std::vector<json::Value> items = pods ? pod_metrics(store, *catalog, info.ns, selector, *usage)
                                          : node_metrics(store, *catalog, selector, *usage);
    if (info.verb == "list")
      return exchange->respond(
          render_value(list_value(kMetricsVersion, pods ? "PodMetricsList" : "NodeMetricsList",
                                  json::Array(items.begin(), items.end())),
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

void serve_node_report(const ExchangePtr& exchange) {
  const bool metrics = exchange->info.group == "metrics.k8s.io";
  Result<model::Selector> selector = check_report(*exchange, metrics);
  if (!selector) return exchange->respond(selector.error());
  kube::PodStreams& streams = *exchange->serving.pod_streams.load();
  if (metrics)
    serve_metrics(exchange, streams, std::move(*selector));
  else
    serve_kept_logs(exchange, streams);
}

}  // namespace hekla::apiserver
