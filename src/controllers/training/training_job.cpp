// Reading a job: the defaults that the training operator fills in at every look.
#include <algorithm>

#include "controllers/training/training_loop.h"
#include "framework/pods.h"

namespace hekla::controllers::training {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

RestartPolicy read_restart(std::string_view text, RestartPolicy otherwise) {
  if (text == "Never") return RestartPolicy::never;
  if (text == "OnFailure") return RestartPolicy::on_failure;
  if (text == "Always") return RestartPolicy::always;
  if (text == "ExitCode") return RestartPolicy::exit_code;
  return otherwise;
}

// The container that counts, or the first; null without any.
json::Object* main_container(json::Value& pod_template, const std::string& name) {
  json::Object* first = nullptr;
  json::Object* found = nullptr;
  framework::for_each_container(pod_template, false, [&](json::Object& container) {
    if (!first) first = &container;
    if (!found && json::string_at(container, {"name"}) == name) found = &container;
  });
  return found ? found : first;
}

std::int32_t port_of(const json::Object& container, const Port& port) {
  const json::Value* ports = json::find(container, "ports");
  if (ports && ports->is_array())
    for (const json::Value& one : ports->get_array())
      if (json::string_at(one, {"name"}) == port.name)
        return static_cast<std::int32_t>(json::int_at(one, {"containerPort"}));
  return port.number;
}

Replicas read_replicas(const TrainingKind& kind, const Role& role, const json::Value& spec) {
  Replicas replicas;
  replicas.role = role.name;
  replicas.count = static_cast<std::int32_t>(json::int_at(spec, {"replicas"}, 1));
  replicas.restart = read_restart(json::string_at(spec, {"restartPolicy"}), kind.restart);
  const json::Value* given = json::find(spec, "template");
  replicas.pod_template = given ? *given : json::Value(json::Object());
  replicas.port = kind.port.number;
  if (json::Object* container = main_container(replicas.pod_template, kind.container)) {
    replicas.port = port_of(*container, kind.port);
    framework::add_port(*container, kind.port.name, replicas.port);
  }
  return replicas;
}

}  // namespace

const Replicas* TrainingJob::role(std::string_view name) const {
  for (const Replicas& one : replicas)
    if (one.role == name) return &one;
  return nullptr;
}

std::int32_t TrainingJob::size() const {
  std::int32_t all = 0;
  for (const Replicas& one : replicas) all += one.count;
  return all;
}

std::string TrainingJob::member_name(const Replicas& of, std::int32_t index) const {
  return object.metadata.name + "-" + lower(of.role) + "-" + std::to_string(index);
}

TrainingJob read_job(const TrainingKind& kind, const framework::AnyObject& object) {
  TrainingJob job{kind, object, {}, {}};
  const json::Object* map = json::object_at(object.spec, {kind.replica_map});
  if (!map) return job;
  for (const Role& role : kind.roles)
    for (const auto& member : *map)
      if (lower(member.key()) == lower(role.name)) {
        job.replicas.push_back(read_replicas(kind, role, member.value()));
        break;
      }
  return job;
}

std::string role_label(const Replicas& role) { return lower(role.role); }

}  // namespace hekla::controllers::training
