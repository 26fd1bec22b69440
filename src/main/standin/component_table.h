// The components whose originals people install as workloads, and how those are recognised
// (api/components). Data alone; what becomes of a recognised pod is standin_step.h's and
// standins.h's.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla {

// The documents of api/components, one YAML list each.
std::span<const std::string_view> component_yamls();

// A port of the Service in front of a shown workload.
struct ShownPort {
  std::string name;
  std::int64_t port = 0, target = 0;
};

// The Deployment by which a component shows itself as long as nobody has installed one.
struct ShownWorkload {
  std::string ns, name, container;
  std::map<std::string, std::string> labels;  // of its pods, and its selector
  std::string helm;                           // the release that may take it over; empty: none
  std::string once;  // a pod beside it that has done its work, as a Job's has; empty: none
  std::vector<ShownPort> ports;  // of a Service of the same name; none: there is no Service
};

struct Component {
  std::string name;                    // volcano-scheduler; the value of the pods' annotation
  std::vector<std::string> images;     // ends of paths: volcanosh/vc-scheduler
  std::vector<std::string> workloads;  // namespace/name; where given, images count only there
  std::string part;                    // of this process that does its work
  std::string once;                    // the part behind pods that end; empty: the same
  std::vector<std::string> webhooks;   // namespace/name of Services whose reviews it answers
  std::optional<ShownWorkload> shown;
};

class ComponentTable {
 public:
  static Result<ComponentTable> parse(std::span<const std::string_view> yamls);

  const std::vector<Component>& all() const { return all_; }
  // Forgets components by name, so that their pods are anybody's. Those whose part the platform
  // cannot be without are refused, and so are unknown ones.
  Result<void> leave_out(const std::vector<std::string>& names);
  const Component* find(std::string_view name) const;
  // The component that a pod is to be realised by: all of its containers must be known. Null: an
  // ordinary pod.
  const Component* recognise(std::string_view ns, const json::Value& pod) const;
  // The component whose image that is, whoever runs it: images that anybody may use are nobody's.
  const Component* of_any(std::string_view image) const;
  // Whether admission reviews for that Service are answered in this process.
  bool answers(std::string_view ns, std::string_view service) const;

 private:
  const Component* of_image(std::string_view path, const std::string& workload) const;

  std::vector<Component> all_;
};

// The path of a reference: it remains when host, tag and digest are gone: "ml-pipeline/frontend".
// Underscores count as slashes: some mirrors have flat names.
std::string image_path(std::string_view reference);
// Whether an image stands for a part of this program by the built-in table, or goes with those.
bool is_built_in(std::string_view image);
// Sidecars that belong to the pod they stand in: proxies for logins, metrics and the mesh.
bool is_sidecar_image(std::string_view path);

}  // namespace hekla
