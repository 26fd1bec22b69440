// A PodGroup for anything that makes pods: the gang that the scheduler places as a whole or not at
// all. The group is an ordinary child (Care::apply); pods join it by an annotation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/child.h"
#include "model/volcano.h"

namespace hekla::framework {

// On an object that makes pods: "false": no gang for it, "true": one although its pods name another
// scheduler.
inline const std::string kGangAnnotation = "hekla.io/gang-scheduling";

// Members of one template.
struct GangRole {
  std::string name;  // volcano.sh/task-spec of its pods
  std::int32_t replicas = 0;
  // Without these many the role is of no use; 0: no minimum of its own.
  std::int32_t minimum = 0;
  const json::Value* pod_template = nullptr;  // {metadata, spec}; borrowed
};

// How minResources is counted.
enum class GangMeasure {
  quota,     // as Volcano does for its jobs: under the names of a resource quota, requests
             // completed from limits
  requests,  // as the training operators do: the requests of the containers, or their limits where
             // a container has no requests at all
};

struct Gang {
  std::string name;
  std::string queue = "default";
  std::string priority_class = {};
  std::vector<GangRole> roles;
  // Absent: the sum of the roles' replicas.
  std::optional<std::int32_t> min_member = {};
  // Absent: counted over the first min_member pods, roles of higher priority first.
  std::optional<model::ResourceList> min_resources = {};
  GangMeasure measure = GangMeasure::requests;
  // Written as spec.minTaskMember: the scheduler keeps to the minimum of each role.
  bool minimum_per_role = false;
  std::map<std::string, std::string> labels = {}, annotations = {};
  std::optional<model::NetworkTopologySpec> network_topology = {};
};

// The value of a priority class by name; 0 when it is unknown.
using PriorityOf = std::function<std::int32_t(const std::string&)>;

// Fails when a template cannot be read. `existing` is the group that is there, or null: its queue
// stays, since a queue is not left once a job waits in it.
Result<Child> pod_group(const Gang& gang, const PriorityOf& priority_of,
                        const AnyObject* existing = nullptr);
Result<model::ResourceList> gang_resources(const Gang& gang, const PriorityOf& priority_of);

// Pods are made once the scheduler has let the group into its queue: a group that is missing,
// without a phase or Pending holds them back.
bool is_admitted(const AnyObject* group);

// Puts a pod into its gang: the group's annotation, the role's, and the scheduler's name where the
// template has none. False when the template names another scheduler, which stays.
bool join_gang(json::Value& pod, const std::string& group, const std::string& role,
               const std::string& scheduler_name);

}  // namespace hekla::framework
