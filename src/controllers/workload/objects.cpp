#include "controllers/workload/objects.h"

#include <charconv>

namespace hekla::controllers {

namespace workload_resources {
const kube::Resource cron_jobs{"batch", "v1", "cronjobs", "CronJob", true};
const kube::Resource controller_revisions{"apps", "v1", "controllerrevisions", "ControllerRevision",
                                          true};
const kube::Resource replication_controllers{"", "v1", "replicationcontrollers",
                                             "ReplicationController", true};
}  // namespace workload_resources

std::int64_t replicas_of(const AnyObject& object) {
  return json::int_at(object.spec, {"replicas"}, 1);
}

const json::Value& template_of(const AnyObject& object) {
  static const json::Value none;
  const json::Value* found = json::find(object.spec, "template");
  return found ? *found : none;
}

std::int64_t int_or_percent(const json::Value* value, std::int64_t total, bool round_up,
                            std::int64_t otherwise) {
  if (!value) return otherwise;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
  if (!value->is_string()) return otherwise;
  std::string_view text = json::sv(value->get_string());
  std::int64_t percent = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end == text.data()) return otherwise;
  return (percent * total + (round_up ? 99 : 0)) / 100;
}

void put_count(json::Object& status, std::string_view member, std::int64_t count) {
  if (count != 0) status[member] = count;
}

void drop_condition(json::Array& conditions, std::string_view type) {
  json::erase_if(conditions,
                 [&](const json::Value& one) { return json::string_at(one, {"type"}) == type; });
}

Child once(const kube::Resource& resource, json::Value body) {
  return {.resource = resource, .body = std::move(body), .care = Care::create_once};
}

OwnedKind owned_pods() {
  return {.resource = kube::resources::pods,
          .claim = Claim::selector,
          .slow_start = true,
          .words = {.created = {{"Normal", "SuccessfulCreate", "Created pod: {name}"}},
                    .create_failed = {{"Warning", "FailedCreate", "Error creating: {error}"}},
                    .removed = {{"Normal", "SuccessfulDelete", "Deleted pod: {name}"}}}};
}

}  // namespace hekla::controllers
