#include "agent/spec/downward.h"

#include "base/bytes.h"
#include "json/go_text.h"

namespace hekla::agent {
namespace {

// metadata.labels['key'] to key; empty when `path` is something else.
std::string subscript(const std::string& path, const std::string& base) {
  std::string open = base + "['";
  if (!path.starts_with(open) || !path.ends_with("']") || path.size() < open.size() + 2) return {};
  return path.substr(open.size(), path.size() - open.size() - 2);
}

}  // namespace

std::string format_map(const std::map<std::string, std::string>& map) {
  std::string out;
  for (const auto& [key, value] : map) {
    if (!out.empty()) out += '\n';
    out += key + "=" + json::go_quote(value);
  }
  return out;
}

Result<std::string> field_value(const model::Pod& pod, const PodFacts& facts,
                                const std::string& path) {
  if (path == "metadata.name") return pod.metadata.name;
  if (path == "metadata.namespace") return pod.metadata.ns;
  if (path == "metadata.uid") return pod.metadata.uid;
  if (path == "metadata.labels") return format_map(pod.metadata.labels);
  if (path == "metadata.annotations") return format_map(pod.metadata.annotations);
  if (path == "spec.nodeName") return facts.node_name;
  if (path == "spec.serviceAccountName")
    return pod.spec.serviceAccountName.empty() ? std::string("default")
                                               : pod.spec.serviceAccountName;
  if (path == "status.hostIP" || path == "status.hostIPs") return facts.host_ip;
  if (path == "status.podIP" || path == "status.podIPs") return facts.pod_ip;
  if (std::string key = subscript(path, "metadata.labels"); !key.empty())
    return pod.metadata.label(key);
  if (std::string key = subscript(path, "metadata.annotations"); !key.empty())
    return pod.metadata.annotation(key);
  return fail(Code::invalid, "unsupported fieldPath: " + path);
}

Result<std::string> resource_value(const model::Container& container, const PodFacts& facts,
                                   const json::Value& reference) {
  const std::string resource(json::string_at(reference, {"resource"}));
  std::size_t dot = resource.find('.');
  if (dot == std::string::npos)
    return fail(Code::invalid, "unsupported container resource : " + resource);
  const std::string kind = resource.substr(0, dot), name = resource.substr(dot + 1);
  if (kind != "limits" && kind != "requests")
    return fail(Code::invalid, "unsupported container resource : " + resource);
  const model::ResourceList& list =
      kind == "limits" ? container.resources.limits : container.resources.requests;
  model::Quantity amount;
  if (auto found = list.find(name); found != list.end()) {
    amount = found->second;
  } else if (kind == "limits") {
    if (auto whole = facts.node_allocatable.find(name); whole != facts.node_allocatable.end())
      amount = whole->second;
  }
  model::Quantity divisor = model::Quantity::of(1);
  if (const json::Value* given = json::find(reference, "divisor"); given && !given->is_null()) {
    model::Quantity parsed = TRY(model::Quantity::from_json(*given));
    if (!parsed.is_zero()) divisor = parsed;
  }
  Int128 units = (amount.nanos + divisor.nanos - 1) / divisor.nanos;
  return std::to_string(static_cast<std::int64_t>(units));
}

}  // namespace hekla::agent
