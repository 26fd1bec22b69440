#include "apiserver/request/node_metrics.h"

#include <optional>

#include "apiserver/object/storage.h"
#include "apiserver/read/reads.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

std::string window_text(Nanos window) {
  return std::to_string(std::chrono::duration<double>(window).count()) + "s";
}

json::Object usage_value(std::int64_t nanocores, std::int64_t memory_bytes) {
  return {{"cpu", std::to_string(nanocores) + "n"},
          {"memory", std::to_string(memory_bytes / 1024) + "Ki"}};
}

// The labels of the object that is measured; nothing when it is gone.
std::optional<json::Object> labels_of(const store::Store& store, const Catalog& catalog,
                                      std::string_view plural, const kube::Key& key) {
  ServedPtr served = catalog.find("", "v1", plural);
  Result<store::ItemPtr> item = get_object(store, *served, key);
  if (!item) return std::nullopt;
  json::Value object = decode_object(*served, **item);
  const json::Value* labels = json::find_path(object, {"metadata", "labels"});
  return labels && labels->is_object() ? labels->as_object() : json::Object{};
}

bool selects(const model::Selector& selector, const json::Object& labels) {
  model::Labels plain;
  for (const auto& [key, value] : labels)
    if (value.is_string()) plain.emplace(key, value.as_string());
  return selector.matches(plain);
}

}  // namespace

json::Object report_metadata(const kube::Key& key, WallTime at, json::Object labels) {
  json::Object metadata{{"name", key.name}};
  if (!key.ns.empty()) metadata.emplace("namespace", key.ns);
  metadata.emplace("creationTimestamp", model::format_rfc3339(at));
  if (!labels.empty()) metadata.emplace("labels", std::move(labels));
  return metadata;
}

std::vector<json::Value> node_metrics(const store::Store& store, const Catalog& catalog,
                                      const model::Selector& selector,
                                      const kube::NodeUsage& usage) {
  std::vector<json::Value> items;
  std::optional<json::Object> labels = labels_of(store, catalog, "nodes", {"", usage.node});
  if (!labels || !selects(selector, *labels)) return items;
  items.push_back(json::Object{{"kind", "NodeMetrics"},
                               {"apiVersion", kMetricsVersion},
                               {"metadata", report_metadata({"", usage.node}, usage.at, *labels)},
                               {"timestamp", model::format_rfc3339(usage.at)},
                               {"window", window_text(usage.window)},
                               {"usage", usage_value(usage.cpu_nanocores, usage.memory_bytes)}});
  return items;
}

std::vector<json::Value> pod_metrics(const store::Store& store, const Catalog& catalog,
                                     const std::string& ns, const model::Selector& selector,
                                     const kube::NodeUsage& usage) {
  std::vector<json::Value> items;
  for (const kube::PodUsage& pod : usage.pods) {
    if (!ns.empty() && ns != pod.ns) continue;
    std::optional<json::Object> labels = labels_of(store, catalog, "pods", {pod.ns, pod.name});
    if (!labels || !selects(selector, *labels)) continue;
    json::Array containers;
    for (const kube::ContainerUsage& one : pod.containers)
      containers.push_back(json::Object{
          {"name", one.name}, {"usage", usage_value(one.cpu_nanocores, one.memory_bytes)}});
    items.push_back(
        json::Object{{"kind", "PodMetrics"},
                     {"apiVersion", kMetricsVersion},
                     {"metadata", report_metadata({pod.ns, pod.name}, usage.at, *labels)},
                     {"timestamp", model::format_rfc3339(usage.at)},
                     {"window", window_text(pod.window)},
                     {"containers", std::move(containers)}});
  }
  return items;
}

}  // namespace hekla::apiserver
