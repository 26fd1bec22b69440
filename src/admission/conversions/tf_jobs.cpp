// TFJob: v1alpha1 lists its roles, the later ones map them; up to v1beta2 what is v1's runPolicy
// stands in the spec itself. (v1 of tf-operator 1.0 had it there too: v1 as it is stored knows
// both places, and runPolicy goes first.)
//
// v1alpha1's TensorBoard becomes a role of its own, in the form in which a controller runs it.
#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "admission/conversion.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kContainer = "tensorflow", kPort = "tfjob-port";
constexpr std::string_view kTensorBoard = "TensorBoard";
// The order in which v1alpha1 lists its roles, unless that is the order of their names.
constexpr std::string_view kRoleOrder = "hekla.io/role-order";
constexpr std::string_view kServiceType = "hekla.io/service-type";  // of a role's Services

constexpr std::array<std::string_view, 4> kPolicies{"cleanPodPolicy", "ttlSecondsAfterFinished",
                                                    "activeDeadlineSeconds", "backoffLimit"};

void policies_into_run_policy(json::Value& object) {
  json::Object* spec = part_of(object, "spec");
  if (!spec) return;
  json::Object policy;
  for (std::string_view member : kPolicies)
    if (json::Value value = take(*spec, member); !value.is_null()) policy[member] = value;
  if (policy.empty()) return;
  policy["suspend"] = false;  // as the schema's default would
  (*spec)["runPolicy"] = std::move(policy);
}

void policies_out_of_run_policy(json::Value& object) {
  json::Object* spec = part_of(object, "spec");
  if (!spec) return;
  json::Value policy = take(*spec, "runPolicy");
  if (!policy.is_object()) return;
  for (std::string_view member : kPolicies)
    if (json::Value value = take(policy.get_object(), member); !value.is_null())
      (*spec)[member] = std::move(value);
}

void rename(json::Object* object, std::string_view from, std::string_view to) {
  if (!object) return;
  if (json::Value value = take(*object, from); !value.is_null()) (*object)[to] = std::move(value);
}

// Before v1beta2 there were no limits.
void to_map_version(json::Value& object, bool with_limits) {
  policies_out_of_run_policy(object);
  json::Object* spec = part_of(object, "spec");
  if (!spec) return;
  retain(*spec, {"tfReplicaSpecs", "cleanPodPolicy", "ttlSecondsAfterFinished", "schedulerName",
                 "activeDeadlineSeconds", "backoffLimit"});
  if (with_limits) return;
  for (std::string_view limit : {"activeDeadlineSeconds", "backoffLimit"}) take(*spec, limit);
}

void from_v1alpha2(json::Value& object) {
  policies_into_run_policy(object);
  rename(part_of(object, "status"), "tfReplicaStatuses", "replicaStatuses");
}

void to_v1alpha2(json::Value& object) {
  to_map_version(object, false);
  rename(part_of(object, "status"), "replicaStatuses", "tfReplicaStatuses");
}

void to_v1beta1(json::Value& object) { to_map_version(object, false); }

void to_v1beta2(json::Value& object) { to_map_version(object, true); }

// The container that TensorFlow runs in; null without one.
json::Object* container_of(json::Object& role) {
  json::Value* pod = role.if_contains("template");
  if (!pod || !json::array_at(*pod, {"spec", "containers"})) return nullptr;
  for (json::Value& container : json::at_path(*pod, {"spec", "containers"}).get_array())
    if (json::string_at(container, {"name"}) == kContainer) return &container.get_object();
  return nullptr;
}

// v1alpha1's tfPort is the last of the container's ports.
void set_port(json::Object& role, json::Value number) {
  json::Object* container = container_of(role);
  if (!container) return;
  json::Value& ports = (*container)["ports"];
  if (!ports.is_array()) ports = json::Array();
  ports.get_array().push_back(json::Object{{"name", kPort}, {"containerPort", std::move(number)}});
}

json::Value take_port(json::Object& role) {
  json::Object* container = container_of(role);
  json::Value* ports = container ? container->if_contains("ports") : nullptr;
  if (!ports || !ports->is_array() || ports->get_array().empty()) return nullptr;
  const json::Value last = ports->get_array().back();
  const json::Value* number = json::find(last, "containerPort");
  if (!number || !json::equal(last, json::Object{{"name", kPort}, {"containerPort", *number}}))
    return nullptr;
  ports->get_array().pop_back();
  if (ports->get_array().empty()) take(*container, "ports");
  return *number;
}

// A role as tf-operator 0.1 would have run it beside the job.
json::Value tensor_board_role(const json::Value& board, std::string_view image) {
  json::Object container{
      {"name", "tensorboard"},
      {"image", image},
      {"command", json::Array{"tensorboard", "--logdir", json::string_at(board, {"logDir"}),
                              "--host", "0.0.0.0"}},
      {"ports", json::Array{json::Object{{"name", "tb-port"}, {"containerPort", 6006}}}}};
  json::Object pod;
  if (const json::Value* mounts = json::find(board, "volumeMounts"))
    container["volumeMounts"] = *mounts;
  pod["containers"] = json::Array{std::move(container)};
  if (const json::Value* volumes = json::find(board, "volumes")) pod["volumes"] = *volumes;
  json::Object pod_template{{"spec", std::move(pod)}};
  if (const json::Value* type = json::find(board, "serviceType"))
    pod_template["metadata"] = json::Object{{"annotations", json::Object{{kServiceType, *type}}}};
  return json::Object{
      {"replicas", 1}, {"restartPolicy", "Always"}, {"template", std::move(pod_template)}};
}

// The other way; null for a role that says anything else.
json::Value tensor_board_of(const json::Value& role) {
  const json::Array* containers = json::array_at(role, {"template", "spec", "containers"});
  if (!containers || containers->empty()) return nullptr;
  const json::Value& container = containers->front();
  const json::Array* command = json::array_at(container, {"command"});
  if (!command || command->size() < 3) return nullptr;
  json::Object board{{"logDir", (*command)[2]}};
  if (const json::Value* volumes = json::find_path(role, {"template", "spec", "volumes"}))
    board["volumes"] = *volumes;
  if (const json::Value* mounts = json::find(container, "volumeMounts"))
    board["volumeMounts"] = *mounts;
  if (const json::Value* type =
          json::find_path(role, {"template", "metadata", "annotations", kServiceType}))
    board["serviceType"] = *type;
  json::Value made = std::move(board);
  const bool same =
      json::equal(tensor_board_role(made, json::string_at(container, {"image"})), role);
  return same ? std::move(made) : json::Value();
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

void roles_from_list(json::Value& object, json::Object& spec) {
  json::Object roles;
  std::vector<std::string> order;
  const json::Value list = take(spec, "replicaSpecs");
  for (std::size_t i = 0; list.is_array() && i < list.get_array().size(); ++i) {
    if (!list.get_array()[i].is_object()) continue;
    json::Object role = list.get_array()[i].get_object();
    const json::Value type = take(role, "tfReplicaType");
    order.emplace_back(type.is_string() ? json::sv(type.get_string()) : "MASTER");
    if (json::Value port = take(role, "tfPort"); !port.is_null()) set_port(role, std::move(port));
    roles[order.back()] = std::move(role);
  }
  const json::Value image = take(spec, "tfImage"), board = take(spec, "tensorboard");
  if (board.is_object())
    roles[kTensorBoard] = tensor_board_role(
        board, image.is_string() ? json::sv(image.get_string()) : "tensorflow/tensorflow:1.3.0");
  spec["tfReplicaSpecs"] = std::move(roles);
  if (!std::ranges::is_sorted(order))
    json::at_path(object, {"metadata", "annotations", kRoleOrder}) = joined(order);
}

std::vector<std::string> listed_order(std::string text, const json::Object& roles) {
  std::vector<std::string> order, rest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (std::string name = text.substr(at, end - at); roles.contains(name)) order.push_back(name);
    at = end + 1;
  }
  for (const auto& role : roles)
    if (std::ranges::find(order, std::string_view(role.key())) == order.end())
      rest.emplace_back(role.key());
  std::ranges::sort(rest);
  order.insert(order.end(), rest.begin(), rest.end());
  return order;
}

void roles_into_list(json::Object& spec, std::string order) {
  json::Value map = take(spec, "tfReplicaSpecs");
  json::Object roles = map.is_object() ? std::move(map.get_object()) : json::Object();
  if (const json::Value* role = json::find(roles, kTensorBoard))
    if (json::Value board = tensor_board_of(*role); !board.is_null()) {
      spec["tensorboard"] = std::move(board);
      take(roles, kTensorBoard);
    }
  json::Array list;
  for (const std::string& name : listed_order(std::move(order), roles)) {
    json::Object item;
    if (roles[name].is_object()) item = std::move(roles[name].get_object());
    if (json::Value port = take_port(item); !port.is_null()) item["tfPort"] = std::move(port);
    item["tfReplicaType"] = name;
    list.push_back(std::move(item));
  }
  spec["replicaSpecs"] = std::move(list);
}

// v1alpha1's words for the last condition.
std::string_view state_of(const json::Value& status) {
  const json::Array* conditions = json::array_at(status, {"conditions"});
  const std::string_view last =
      conditions && !conditions->empty() ? json::string_at(conditions->back(), {"type"}) : "";
  if (last == "Succeeded" || last == "Failed") return last;
  return last == "Running" || last == "Restarting" ? "Running" : "Unknown";
}

std::string_view phase_of(std::string_view state) {
  if (state == "Succeeded") return "Done";
  return state == "Unknown" ? "Creating" : state;
}

json::Value replica_state(std::string_view role, const json::Value& counts) {
  json::Object states;
  std::string_view state = "Unknown";
  for (const auto& [member, name] : {std::pair{"succeeded", "Succeeded"},
                                     std::pair{"active", "Running"}, std::pair{"failed", "Failed"}})
    if (const std::int64_t count = json::int_at(counts, {member}); count > 0) {
      states[name] = count;
      state = name;
    }
  std::string upper(role);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return json::Object{
      {"tf_replica_type", upper}, {"state", state}, {"ReplicasStates", std::move(states)}};
}

void from_v1alpha1(json::Value& object) {
  if (json::Object* spec = part_of(object, "spec")) {
    rename(spec, "cleanupPodPolicy", "cleanPodPolicy");
    policies_into_run_policy(object);
    roles_from_list(object, *spec);
    retain(*spec, {"tfReplicaSpecs", "runPolicy", "schedulerName"});
  }
  if (json::Object* status = part_of(object, "status")) {
    for (std::string_view told : {"phase", "reason", "state", "replicaStatuses"})
      take(*status, told);
    rename(status, "tfReplicaStatuses", "replicaStatuses");
  }
}

void to_v1alpha1(json::Value& object) {
  std::string order = take_annotation(object, kRoleOrder);
  if (json::Object* spec = part_of(object, "spec")) {
    policies_out_of_run_policy(object);
    rename(spec, "cleanPodPolicy", "cleanupPodPolicy");
    roles_into_list(*spec, std::move(order));
    retain(*spec, {"replicaSpecs", "tensorboard", "cleanupPodPolicy", "schedulerName"});
  }
  if (json::Object* status = part_of(object, "status")) {
    rename(status, "replicaStatuses", "tfReplicaStatuses");
    const std::string state(state_of(object.at("status")));
    json::Array states;
    if (const json::Object* counts = json::object_at(object, {"status", "tfReplicaStatuses"}))
      for (const auto& role : *counts) states.push_back(replica_state(role.key(), role.value()));
    (*status)["phase"] = phase_of(state);
    (*status)["state"] = state;
    (*status)["replicaStatuses"] = std::move(states);
  }
}

constexpr std::array<Translation, 4> kTranslations{{
    {"v1alpha1", from_v1alpha1, to_v1alpha1},
    {"v1alpha2", from_v1alpha2, to_v1alpha2},
    {"v1beta1", policies_into_run_policy, to_v1beta1},
    {"v1beta2", policies_into_run_policy, to_v1beta2},
}};

}  // namespace

void convert_tf_job(json::Value& object, std::string_view version) {
  convert_by(kTranslations, object, version);
}

}  // namespace hekla::admission
