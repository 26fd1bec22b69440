// The one door between Hekla's components and a Kubernetes API, ours or a real one. Scheduler,
// controllers and agent know nothing else. Two implementations: apiserver::LocalClient (in the
// process, a batch is one commit) and RestClient (kube/rest_client.h, a batch is a pipelined
// window).
//
// A Client never blocks. It belongs to one Executor: it is called there, and every callback is
// posted there. Order of a batch is kept, there is one result per write, and NO atomicity is
// promised: callers must be right when any member fails or the process dies between two.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::kube {

// A served resource: {"batch.volcano.sh", "v1alpha1", "jobs"}; the core group is "".
struct Resource {
  std::string group, version, plural;
  std::string kind;
  bool namespaced = true;
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  bool operator==(const Resource&) const = default;
};

struct Key {
  std::string ns, name;
  auto operator<=>(const Key&) const = default;
};

class Decoded;

// One revision of one object, immutable and shared. `json` is the whole object with apiVersion and
// kind. Informers of one process share what they decode through `decoded`; null where the object
// came over the wire.
struct Object {
  std::string ns, name, uid;
  std::uint64_t resource_version = 0;
  std::shared_ptr<const std::string> json;
  std::shared_ptr<Decoded> decoded;
};
using ObjectPtr = std::shared_ptr<const Object>;

struct ListOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector, field_selector;
};
struct List {
  std::uint64_t resource_version = 0;
  std::vector<ObjectPtr> items;
};

struct WatchEvent {
  enum class Type { added, modified, deleted, bookmark } type = Type::added;
  ObjectPtr object;  // null for a bookmark
  std::uint64_t resource_version = 0;
};
struct WatchOptions {
  std::string ns, label_selector, field_selector;
  std::uint64_t resource_version = 0;  // events after this one
};
struct WatchCallbacks {
  std::function<void(std::vector<WatchEvent>)> on_events;  // in order, at least one
  std::function<void(Error)> on_error;  // the watch has ended; expired: list again
};
// Destroying it ends the watch; no callback runs afterwards.
class Watch {
 public:
  virtual ~Watch() = default;
};

enum class PatchType { json, merge, strategic, apply };

struct Write {
  // bind: body {"target": {"kind": "Node", "name": ...}} as a v1 Binding. evict: a policy/v1
  // Eviction.
  enum class Verb { create, update, patch, remove, bind, evict } verb = Verb::create;
  Resource resource;
  Key key;                  // name may be empty for create with generateName
  std::string subresource;  // "status", "scale"
  json::Value body;         // object, patch document, or null
  PatchType patch_type = PatchType::merge;
  bool force = false;  // apply patches
  // remove
  std::optional<std::int64_t> grace_period_seconds;
  std::string propagation_policy;  // Background, Foreground, Orphan; empty: the kind's default
  std::string precondition_uid;
  std::uint64_t precondition_resource_version = 0;
};

// For remove: the object's last state.
using WriteResult = Result<ObjectPtr>;
using BatchDone = std::move_only_function<void(std::vector<WriteResult>)>;

class Client {
 public:
  virtual ~Client() = default;
  virtual Executor& executor() = 0;
  virtual void get(const Resource& resource, const Key& key,
                   std::move_only_function<void(Result<ObjectPtr>)> done) = 0;
  virtual void list(const Resource& resource, const ListOptions& options,
                    std::move_only_function<void(Result<List>)> done) = 0;
  virtual std::unique_ptr<Watch> watch(const Resource& resource, const WatchOptions& options,
                                       WatchCallbacks callbacks) = 0;
  virtual void batch(std::vector<Write> writes, BatchDone done) = 0;

  void write(Write one, std::move_only_function<void(WriteResult)> done);
};

// The resources that are served, as they come and go with CRDs: for controllers that work on every
// kind.
class Discovery {
 public:
  virtual ~Discovery() = default;
  // Listable, watchable and deletable ones, each kind once (in its preferred version). Thread-safe.
  virtual std::vector<Resource> resources() const = 0;
  // `changed` is posted to `executor` after every change, for as long as the Discovery lives.
  virtual void on_change(Executor& executor, std::function<void()> changed) = 0;
};

// The field manager and user agent a component writes under ("vc-controller-manager").
struct Identity {
  std::string component;
};

// Makes a Client bound to an executor; main decides which implementation.
using ClientFactory = std::function<std::unique_ptr<Client>(Executor&, Identity)>;

// The kinds Hekla itself reads and writes.
namespace resources {
extern const Resource pods, nodes, services, endpoints, config_maps, secrets, namespaces, events,
    service_accounts, persistent_volume_claims, persistent_volumes, endpoint_slices,
    priority_classes, resource_quotas, network_policies, leases, storage_classes, replica_sets,
    stateful_sets, daemon_sets, deployments, batch_jobs, pod_disruption_budgets,
    custom_resource_definitions;
extern const Resource vcjobs, pod_groups, queues, commands, job_flows, job_templates, vc_cron_jobs,
    hyper_nodes, numatopologies, node_shards;
// Kinds with older versions (tf_jobs, mpi_jobs) are named in the one that is stored.
extern const Resource tf_jobs, pytorch_jobs, mpi_jobs, xgboost_jobs, paddle_jobs, jax_jobs, mx_jobs,
    train_jobs, training_runtimes, cluster_training_runtimes, job_sets;
}  // namespace resources

}  // namespace hekla::kube
