#include "controllers/trainer/train_round.h"

#include <algorithm>

#include "base/bytes.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::controllers::trainer {
namespace {

namespace resources = kube::resources;
using framework::AnyObject, framework::AnyRef, framework::Care, framework::Outcome;

const std::string kController = "trainer.kubeflow.org/trainjob-controller";
const std::string kLate = "DeadlineExceeded";
// An event's message holds 1024 bytes.
constexpr std::size_t kErrorMax = 950;

bool is_shared(const AnyObject& job) {
  return json::string_at(job.spec, {"runtimeRef", "kind"}) != resources::training_runtimes.kind;
}

// A runtime that the TrainJob names and nobody here runs; empty: none.
std::string unsupported(const AnyObject& job) {
  const std::string group = json::text_at(job.spec, {"runtimeRef", "apiGroup"});
  const std::string kind = json::text_at(job.spec, {"runtimeRef", "kind"});
  const bool known = kind.empty() || kind == resources::training_runtimes.kind ||
                     kind == resources::cluster_training_runtimes.kind;
  if (known && (group.empty() || group == resources::train_jobs.group)) return {};
  return "unsupported runtime: " + (group.empty() ? kind : kind + "." + group);
}

}  // namespace

Result<Outcome> reconcile_train_job(const Options& options, const AnyObject& job,
                                    const framework::View& view) {
  const std::string manager = json::text_at(job.spec, {"managedBy"});
  if (!manager.empty() && manager != kController) return Outcome{};
  return TrainRound(options, job, view).run();
}

TrainRound::TrainRound(const Options& options, const AnyObject& job, const framework::View& view)
    : options_(options),
      job_(job),
      view_(view),
      suspended_(json::bool_at(job.spec, {"suspend"})),
      conditions_(job.status, framework::kPlainConditions, view.now()),
      status_(job.status.is_object() ? job.status.get_object() : json::Object()),
      set_(view.child(resources::job_sets, job.metadata.name)) {}

Outcome TrainRound::run() {
  if (std::string wrong = unsupported(job_); !wrong.empty())
    conditions_.set({"Failed", "True", "TrainingRuntimeNotSupported", wrong});
  note_suspension();
  const json::Value* failed = conditions_.find("Failed");
  if (failed && json::string_at(*failed, {"reason"}) == kLate)
    remove_set();
  else if (!finished() && !pass_deadline())
    want_objects();
  read_set();
  if (!conditions_.list().empty()) status_["conditions"] = conditions_.list();
  outcome_.status = std::move(status_);
  return std::move(outcome_);
}

bool TrainRound::finished() const {
  return conditions_.is_true("Complete") || conditions_.is_true("Failed");
}

void TrainRound::note_suspension() {
  if (suspended_)
    conditions_.set({"Suspended", "True", "Suspended", "TrainJob is suspended"});
  else if (conditions_.is_true("Suspended"))
    conditions_.set({"Suspended", "False", "Resumed", "TrainJob is resumed"});
}

bool TrainRound::pass_deadline() {
  const std::int64_t seconds = json::int_at(job_.spec, {"activeDeadlineSeconds"});
  if (seconds <= 0 || suspended_) return false;
  WallTime start = job_.metadata.creationTimestamp.at.value_or(view_.now());
  if (const json::Value* held = conditions_.find("Suspended"))
    if (Result<WallTime> freed =
            model::parse_rfc3339(json::string_at(*held, {"lastTransitionTime"})))
      start = *freed;
  const WallTime until = start + std::chrono::seconds(seconds);
  if (view_.now() < until) {
    outcome_.again_in(until - view_.now());
    return false;
  }
  conditions_.set({"Failed", "True", kLate, "TrainJob exceeded its active deadline"});
  remove_set();
  return true;
}

void TrainRound::remove_set() {
  if (set_ && !set_->metadata.deletionTimestamp)
    outcome_.removals.push_back(
        framework::removal_of(resources::job_sets, set_->metadata, "its time is over"));
}

void TrainRound::refuse(const Error& error) {
  std::string text = error.message.substr(0, kErrorMax);
  if (error.message.size() > kErrorMax) text += " ...";
  outcome_.tell("Warning", "TrainJobResourcesCreationFailed",
                "TrainJob resources reconciliation failed: " + text);
  outcome_.failure = error;
}

Result<json::Value> TrainRound::noted_runtime() {
  const std::string name = job_.metadata.name + "-runtime-snapshot";
  if (const AnyRef note = view_.child(resources::config_maps, name)) {
    const json::Value* data = json::find(note->rest, "data");
    const std::string text = data ? json::text_at(*data, {"runtime"}) : "";
    Result<std::vector<json::YamlDocument>> read = json::parse_yaml(text);
    if (!read || read->size() != 1)
      return fail(Code::invalid, "getting runtime snapshot: invalid runtime snapshot: " +
                                     (read ? "no runtime in it" : read.error().message));
    return std::move(read->front().value);
  }
  const bool shared = is_shared(job_);
  const kube::Resource& resource =
      shared ? resources::cluster_training_runtimes : resources::training_runtimes;
  const std::string runtime = json::text_at(job_.spec, {"runtimeRef", "name"});
  const AnyRef found = view_.served(resource)
                           ? view_.find(resource, {shared ? "" : job_.metadata.ns, runtime})
                           : nullptr;
  if (!found)
    return fail(Code::not_found,
                std::string(shared ? "not found ClusterTrainingRuntime specified in TrainJob"
                                   : "TrainingRuntime specified in TrainJob is not found") +
                    ": " + resource.plural + "." + resource.group + " \"" + runtime +
                    "\" not found");
  json::Value whole = found->to_json();
  json::Object copy{{"apiVersion", resource.api_version()}, {"kind", resource.kind}};
  copy["metadata"] = json::Object{{"name", runtime}};
  if (const json::Value* labels = json::find_path(whole, {"metadata", "labels"}))
    json::at_path(copy["metadata"], {"labels"}) = *labels;
  copy["spec"] = found->spec;
  outcome_.children.push_back(
      {resources::config_maps,
       json::Object{{"metadata", json::Object{{"name", name}}},
                    {"data", json::Object{{"runtime", json::to_yaml(copy)}}}},
       nullptr, Care::create_once});
  return json::Value();
}

void TrainRound::want_objects() {
  Result<json::Value> runtime = noted_runtime();
  if (!runtime) return refuse(runtime.error());
  if (runtime->is_null()) return;  // noted now, used in the next look
  if (json::find_path(*runtime, {"spec", "mlPolicy", "flux"})) {
    conditions_.set({"Failed", "True", "TrainingRuntimeNotSupported",
                     "unsupported runtime: spec.mlPolicy.flux is not run here"});
    return;
  }
  Result<Plan> plan = make_plan(job_, *runtime);
  if (!plan) return refuse(plan.error());
  want_mpi(*plan);
  want_set(*plan);
}

void TrainRound::want_mpi(Plan& plan) {
  const json::Value* policy = json::find(plan.policy, "mpi");
  if (!policy) return;
  if (!view_.find(resources::secrets, {job_.metadata.ns, mpi_secret_name(plan)})) {
    const SshKey key = options_.make_ssh_key();
    outcome_.children.push_back(
        {resources::secrets,
         json::Object{{"metadata", json::Object{{"name", mpi_secret_name(plan)}}},
                      {"type", "kubernetes.io/ssh-auth"},
                      {"immutable", true},
                      {"data", json::Object{{"ssh-privatekey", base64_encode(key.private_pem)},
                                            {"ssh-publickey", base64_encode(key.public_line)}}}},
         nullptr, Care::create_once});
  }
  outcome_.children.push_back(
      {resources::config_maps,
       json::Object{{"metadata", json::Object{{"name", mpi_hostfile_name(plan)}}},
                    {"data", json::Object{{"hostfile", mpi_hostfile(plan, *policy)}}}}});
}

// A set that runs is left as it is.
void TrainRound::want_set(Plan& plan) {
  if (set_ && !suspended_ && !json::bool_at(set_->spec, {"suspend"})) return;
  outcome_.children.push_back({resources::job_sets, std::move(plan.set)});
}

void TrainRound::read_set() {
  if (!set_) return;
  const json::Array& theirs = framework::conditions_of(*set_);
  for (const auto& [from, to] : {std::pair{"Completed", "Complete"}, {"Failed", "Failed"}}) {
    const json::Value* one = framework::find_condition(theirs, from);
    if (one && json::string_at(*one, {"status"}) == "True" && !conditions_.is_true(to))
      conditions_.set(
          {to, "True", json::text_at(*one, {"reason"}), json::text_at(*one, {"message"})});
  }
  const json::Array* jobs = json::array_at(set_->status, {"replicatedJobsStatus"});
  if (!jobs) return;
  json::Array mine;
  for (const json::Value& job : *jobs) {
    json::Object counts{{"name", json::text_at(job, {"name"})}};
    for (const char* member : {"ready", "succeeded", "failed", "active", "suspended"})
      counts[member] = json::int_at(job, {member});
    mine.push_back(std::move(counts));
  }
  status_["jobsStatus"] = std::move(mine);
}

}  // namespace hekla::controllers::trainer
