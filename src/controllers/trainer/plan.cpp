#include "controllers/trainer/plan.h"

#include <algorithm>

#include "framework/pods.h"
#include "model/quantity.h"
#include "model/volcano.h"

namespace hekla::controllers::trainer {
namespace {

using framework::AnyObject;

json::Object* named(json::Value& pod, std::string_view list, std::string_view name) {
  if (!json::array_at(pod, {"spec", list})) return nullptr;
  for (json::Value& one : json::at_path(pod, {"spec", list}).get_array())
    if (json::string_at(one, {"name"}) == name) return &one.get_object();
  return nullptr;
}

void put_texts(json::Value& set, const json::Value& from, std::string_view member) {
  const json::Object* given = json::object_at(from, {"metadata", member});
  if (!given) return;
  for (const auto& one : *given) json::at_path(set, {"metadata", member, one.key()}) = one.value();
}

// Wishes of a TrainJob for its gang go to the JobSet, whose controller makes it.
void put_gang(const AnyObject& job, const json::Value& runtime, json::Value& set) {
  for (const std::string& key : {model::keys::queue_name, std::string("hekla.io/gang-scheduling")})
    if (const std::string& own = job.metadata.annotation(key); !own.empty())
      json::at_path(set, {"metadata", "annotations", key}) = own;
  if (const json::Value* topology =
          json::find_path(runtime, {"spec", "podGroupPolicy", "volcano", "networkTopology"}))
    json::at_path(set, {"metadata", "annotations", "hekla.io/network-topology"}) =
        json::serialize(*topology);
}

void apply_patches(const AnyObject& job, json::Value& set) {
  const json::Array* patches = json::array_at(job.spec, {"runtimePatches"});
  if (!patches) return;
  for (const json::Value& patch : *patches) {
    const json::Value* over = json::find_path(patch, {"trainingRuntimeSpec", "template"});
    if (!over) continue;
    put_texts(set, *over, "labels");
    put_texts(set, *over, "annotations");
    if (const json::Value* spec = json::find(*over, "spec"))
      merge_runtime_patch(json::at_path(set, {"spec"}), *spec);
  }
}

void put_trainer(Plan& plan) {
  const json::Value* trainer = json::find_path(plan.job->spec, {"trainer"});
  json::Object* container = plan.trainer();
  if (!trainer || !container) return;
  for (const char* member : {"image", "command", "args"})
    if (const json::Value* given = json::find(*trainer, member)) (*container)[member] = *given;
  for (const std::string& word : plan.more_command)
    container->at("command").get_array().emplace_back(word);
  const json::Value* resources = json::find(*trainer, "resourcesPerNode");
  const json::Array* env = json::array_at(*trainer, {"env"});
  const bool launcher_too = json::bool_at(plan.policy, {"mpi", "runLauncherAsNode"});
  for (const PodSet& pods : plan.pod_sets) {
    if (pods.step != "trainer" && !(launcher_too && pods.name == "node")) continue;
    json::Object* node = plan.container(pods, "node");
    if (!node) continue;
    if (resources)
      for (const char* list : {"limits", "requests"})
        if (const json::Object* amounts = json::object_at(*resources, {list}))
          for (const auto& amount : *amounts) {
            json::Value& all = json::member_of(*node, "resources");
            json::at_path(all, {list, amount.key()}) = amount.value();
          }
    for (std::size_t i = 0; env && i < env->size(); ++i) {
      const json::Value* source = json::find((*env)[i], "valueFrom");
      framework::set_env(*node, json::string_at((*env)[i], {"name"}),
                         source ? *source : json::Value(json::string_at((*env)[i], {"value"})));
    }
  }
}

// pvc://CLAIM/PATH: the claim is mounted beside the initializer's own volume.
void mount_claim(Plan& plan, const PodSet& pods, json::Object& container, std::string_view uri) {
  constexpr std::string_view kScheme = "pvc://";
  if (!uri.starts_with(kScheme)) return;
  uri.remove_prefix(kScheme.size());
  const std::string claim(uri.substr(0, uri.find('/')));
  framework::add_volume(plan.pod(pods),
                        json::Object{{"name", "storage-source"},
                                     {"persistentVolumeClaim",
                                      json::Object{{"claimName", claim}, {"readOnly", true}}}});
  framework::add_mount(
      container,
      json::Object{{"name", "storage-source"}, {"mountPath", "/mnt/pvc"}, {"readOnly", true}});
}

void put_initializer(Plan& plan, std::string_view member, std::string_view step) {
  const json::Value* given = json::find_path(plan.job->spec, {"initializer", member});
  PodSet* pods = plan.by_step(step);
  json::Object* container = pods ? plan.container(*pods, step) : nullptr;
  if (!given || !container) return;
  const std::string uri = json::text_at(*given, {"storageUri"});
  if (!uri.empty()) put_env(*container, "STORAGE_URI", uri);
  if (const json::Array* env = json::array_at(*given, {"env"}))
    for (const json::Value& one : *env) {
      const json::Value* source = json::find(one, "valueFrom");
      framework::set_env(*container, json::string_at(one, {"name"}),
                         source ? *source : json::Value(json::string_at(one, {"value"})));
    }
  if (std::string secret = json::text_at(*given, {"secretRef", "name"}); !secret.empty()) {
    json::Value& from = json::member_of(*container, "envFrom");
    if (!from.is_array()) from = json::Array();
    from.get_array().push_back(
        json::Object{{"secretRef", json::Object{{"name", std::move(secret)}}}});
  }
  mount_claim(plan, *pods, *container, uri);
}

void put_counts(Plan& plan) {
  for (const PodSet& pods : plan.pod_sets) {
    json::Value& job = plan.replicated_job(pods);
    json::at_path(job, {"template", "spec", "parallelism"}) = pods.count;
    json::at_path(job, {"template", "spec", "completions"}) = pods.count;
    if (pods.step == "trainer" || pods.step.ends_with("-initializer"))
      json::at_path(job, {"replicas"}) = 1;
  }
}

// The number of nodes is the job's, or else the runtime's. Of an MPI runtime it is that of the
// nodes, of which the launcher may be one.
void count_pods(Plan& plan) {
  const json::Value* given = json::find_path(plan.job->spec, {"trainer", "numNodes"});
  if (!given) given = json::find(plan.policy, "numNodes");
  const auto nodes =
      static_cast<std::int32_t>(given && given->is_number() ? given->to_number<std::int64_t>() : 0);
  PodSet* trainer = plan.by_step("trainer");
  PodSet* node = plan.by_name("node");
  const bool launched = json::object_at(plan.policy, {"mpi"}) && node && node != trainer;
  if (launched) {
    if (trainer) trainer->count = 1;
    if (nodes > 0)
      node->count =
          json::bool_at(plan.policy, {"mpi", "runLauncherAsNode"}) ? std::max(nodes - 1, 1) : nodes;
  } else if (trainer) {
    trainer->count = std::max(nodes, 1);
  }
}

const json::Value* node_resources(Plan& plan) {
  if (const json::Value* own = json::find_path(plan.job->spec, {"trainer", "resourcesPerNode"}))
    return own;
  for (const PodSet& pods : plan.pod_sets)
    if (pods.name == "node" || pods.step == "trainer")
      if (json::Object* container = plan.container(pods, "node"))
        if (const json::Value* found = container->if_contains("resources")) return found;
  return nullptr;
}

std::int64_t amount_of(const json::Value* amount) {
  if (!amount) return 0;
  Result<model::Quantity> count = model::Quantity::from_json(*amount);
  return count ? count->value() : 0;
}

}  // namespace

PodSet* Plan::by_step(std::string_view step) {
  for (PodSet& one : pod_sets)
    if (one.step == step) return &one;
  return nullptr;
}

PodSet* Plan::by_name(std::string_view name) {
  for (PodSet& one : pod_sets)
    if (one.name == name) return &one;
  return nullptr;
}

json::Value& Plan::replicated_job(const PodSet& pods) {
  return json::at_path(set, {"spec", "replicatedJobs"}).get_array()[pods.index];
}

json::Value& Plan::pod(const PodSet& pods) {
  return json::at_path(replicated_job(pods), {"template", "spec", "template"});
}

json::Object* Plan::container(const PodSet& pods, std::string_view name) {
  return named(pod(pods), "containers", name);
}

json::Object* Plan::init_container(const PodSet& pods, std::string_view name) {
  return named(pod(pods), "initContainers", name);
}

json::Object* Plan::trainer() {
  PodSet* pods = by_step("trainer");
  return pods ? container(*pods, "node") : nullptr;
}

std::int32_t Plan::trainer_count() {
  PodSet* pods = by_step("trainer");
  return pods ? pods->count : 1;
}

std::string Plan::endpoint(std::string_view job_name, std::int32_t pod_index) const {
  std::string domain = json::text_at(set, {"spec", "network", "subdomain"});
  if (domain.empty()) domain = name();
  return name() + "-" + std::string(job_name) + "-0-" + std::to_string(pod_index) + "." + domain;
}

Result<Plan> make_plan(const AnyObject& job, const json::Value& runtime) {
  Plan plan{.job = &job};
  if (const json::Value* policy = json::find_path(runtime, {"spec", "mlPolicy"}))
    plan.policy = *policy;
  plan.set = json::Object{{"metadata", json::Object{{"name", job.metadata.name}}},
                          {"spec", json::Object()}};
  if (const json::Value* given = json::find_path(runtime, {"spec", "template"})) {
    put_texts(plan.set, *given, "labels");
    put_texts(plan.set, *given, "annotations");
    if (const json::Value* spec = json::find(*given, "spec"))
      json::at_path(plan.set, {"spec"}) = *spec;
  }
  apply_patches(job, plan.set);
  put_gang(job, runtime, plan.set);
  const json::Array* jobs = json::array_at(plan.set, {"spec", "replicatedJobs"});
  for (std::size_t i = 0; jobs && i < jobs->size(); ++i)
    plan.pod_sets.push_back(
        {json::text_at((*jobs)[i], {"name"}),
         json::text_at((*jobs)[i], {"template", "metadata", "labels", kStepLabel}),
         static_cast<std::int32_t>(std::max<std::int64_t>(
             1, json::int_at((*jobs)[i], {"template", "spec", "parallelism"}, 1))),
         i});
  count_pods(plan);
  TRY(apply_policy(plan));
  put_trainer(plan);
  put_initializer(plan, "dataset", "dataset-initializer");
  put_initializer(plan, "model", "model-initializer");
  if (json::find_path(runtime, {"spec", "podGroupPolicy", "coscheduling"}))
    for (const PodSet& pods : plan.pod_sets)
      json::at_path(plan.pod(pods), {"metadata", "labels", "scheduling.x-k8s.io/pod-group"}) =
          plan.name();
  put_counts(plan);
  json::at_path(plan.set, {"spec", "suspend"}) = json::bool_at(job.spec, {"suspend"});
  return plan;
}

std::int64_t gpus_per_node(Plan& plan) {
  const json::Value* resources = node_resources(plan);
  for (std::string_view list : {"requests", "limits"}) {
    const json::Object* amounts = resources ? json::object_at(*resources, {list}) : nullptr;
    if (!amounts) continue;
    for (const auto& amount : *amounts) {
      std::string name(amount.key());
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      if (name.find("gpu") != std::string::npos && amount_of(&amount.value()) > 0)
        return amount_of(&amount.value());
    }
  }
  return 0;
}

std::int64_t cpus_per_node(Plan& plan) {
  const json::Value* resources = node_resources(plan);
  if (!resources) return 0;
  const std::int64_t requested = amount_of(json::find_path(*resources, {"requests", "cpu"}));
  return requested > 0 ? requested : amount_of(json::find_path(*resources, {"limits", "cpu"}));
}

std::vector<std::string> texts_at(const json::Value& value,
                                  std::initializer_list<std::string_view> path) {
  std::vector<std::string> texts;
  if (const json::Array* list = json::array_at(value, path))
    for (const json::Value& one : *list)
      if (one.is_string()) texts.emplace_back(json::sv(one.get_string()));
  return texts;
}

void put_env(json::Object& container, std::string_view name, const std::string& value) {
  framework::set_env(container, name, json::Value(value));
}

void add_container_port(json::Object& container, std::int32_t port) {
  json::Value& ports = json::member_of(container, "ports");
  if (!ports.is_array()) ports = json::Array();
  for (const json::Value& one : ports.get_array())
    if (json::int_at(one, {"containerPort"}) == port) return;
  ports.get_array().push_back(json::Object{{"containerPort", port}});
}

json::Value from_field(const std::string& path) {
  return json::Object{{"fieldRef", json::Object{{"fieldPath", path}}}};
}

}  // namespace hekla::controllers::trainer
