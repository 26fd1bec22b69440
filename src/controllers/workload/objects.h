// What the controllers of Kubernetes' own workloads share: their objects, as far as those matter,
// and the arithmetic of readiness, percentages, conditions and template hashes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/framework/writes.h"
#include "model/core.h"
#include "model/selector.h"

namespace hekla::controllers {

// Spec and status stay JSON: what a user wrote is passed on as it is.
struct Workload {
  model::ObjectMeta metadata;
  json::Value spec, status;

  std::int64_t replicas() const { return json::int_at(spec, {"replicas"}, 1); }
  const json::Value& pod_template() const;
  // Matches nothing when it is missing, empty or wrong.
  std::optional<model::Selector> selector() const;
};
BOOST_DESCRIBE_STRUCT(Workload, (), (metadata, spec, status))

struct ControllerRevision {
  model::ObjectMeta metadata;
  json::Value data;
  std::int64_t revision = 0;
};
BOOST_DESCRIBE_STRUCT(ControllerRevision, (), (metadata, data, revision))

using WorkloadRef = std::shared_ptr<const Workload>;
using WorkloadPod = std::shared_ptr<const model::Pod>;
using RevisionRef = std::shared_ptr<const ControllerRevision>;

kube::Key key_of(const model::ObjectMeta& metadata);

// Neither finished nor on its way out.
bool pod_active(const model::Pod& pod);
bool pod_finished(const model::Pod& pod);
bool pod_ready(const model::Pod& pod);
// Ready for at least `min_ready` seconds. When it is not yet, `wait` is lowered to the time left.
bool pod_available(const model::Pod& pod, std::int64_t min_ready, WallTime now,
                   std::optional<Nanos>& wait);
void wake_in(std::optional<Nanos>& wait, Nanos delay);

// "25%" or 3, of `total`.
std::int64_t int_or_percent(const json::Value* value, std::int64_t total, bool round_up,
                            std::int64_t otherwise);

// The merge patch that turns one status into another; nothing when they are equal.
std::optional<kube::Write> status_write(const kube::Resource& resource, const Workload& object,
                                        const json::Object& wanted);
// Zero is left out, like omitempty.
void put_count(json::Object& status, std::string_view member, std::int64_t count);

const json::Value* find_condition(const json::Array& conditions, std::string_view type);
const json::Array& conditions_of(const Workload& object);
void drop_condition(json::Array& conditions, std::string_view type);

// FNV-32a over the template with its members in order, in letters that make no words.
std::string template_hash(const json::Value& pod_template, std::optional<std::int64_t> collisions);

// A pod from a template, owned by `owner`; the name is left to the caller.
json::Value pod_from_template(const json::Value& pod_template, const std::string& ns,
                              const model::OwnerReference& owner);
json::Array owner_references(const model::ObjectMeta& metadata);

}  // namespace hekla::controllers
