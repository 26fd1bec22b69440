// What the controllers of Kubernetes' own workloads share: questions about their objects,
// percentages, counts, the words of their events.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/vocabulary.h"
#include "framework/claims.h"
#include "framework/condition.h"
#include "framework/content_hash.h"
#include "framework/held.h"
#include "framework/kind_description.h"
#include "model/core.h"

namespace hekla::controllers {

namespace workload_resources {
extern const kube::Resource cron_jobs, controller_revisions, replication_controllers;
}  // namespace workload_resources

// spec.replicas, one when it is missing, and spec.template.
std::int64_t replicas_of(const AnyObject& object);
const json::Value& template_of(const AnyObject& object);

struct ControllerRevision {
  model::ObjectMeta metadata;
  json::Value data;
  std::int64_t revision = 0;
};
BOOST_DESCRIBE_STRUCT(ControllerRevision, (), (metadata, data, revision))
using RevisionRef = std::shared_ptr<const ControllerRevision>;

// "25%" or 3, of `total`.
std::int64_t int_or_percent(const json::Value* value, std::int64_t total, bool round_up,
                            std::int64_t otherwise);
// Zero is left out, like omitempty.
void put_count(json::Object& status, std::string_view member, std::int64_t count);
void drop_condition(json::Array& conditions, std::string_view type);

// A child that is made and left alone.
Child once(const kube::Resource& resource, json::Value body);

// Pods as Kubernetes' workloads have them: claimed by selector, told of by "Created pod: x".
OwnedKind owned_pods();

}  // namespace hekla::controllers
