// metrics.k8s.io: what the node agent measured, as objects. HTTP and the in-process client show the
// same ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/registry.h"
#include "json/value.h"
#include "kube/pod_streams.h"
#include "model/selector.h"
#include "store/store.h"

namespace hekla::apiserver {

inline constexpr std::string_view kMetricsVersion = "metrics.k8s.io/v1beta1";

// NodeMetrics and PodMetrics of what is there and selected; `ns` empty: all namespaces.
std::vector<json::Value> node_metrics(const store::Store& store, const Catalog& catalog,
                                      const model::Selector& selector,
                                      const kube::NodeUsage& usage);
std::vector<json::Value> pod_metrics(const store::Store& store, const Catalog& catalog,
                                     const std::string& ns, const model::Selector& selector,
                                     const kube::NodeUsage& usage);
// metadata of something that was never stored.
json::Object report_metadata(const kube::Key& key, WallTime at, json::Object labels);

}  // namespace hekla::apiserver
