#include "support/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/parse.h"
#include "model/time.h"
#include "support/subset.h"

namespace hekla::test {
namespace {

namespace fs = std::filesystem;
namespace resources = kube::resources;

constexpr std::size_t kStepsMax = 100'000;

const std::vector<kube::Resource>& well_known() {
  static const std::vector<kube::Resource> all = {resources::vcjobs,
                                                  resources::pod_groups,
                                                  resources::queues,
                                                  resources::commands,
                                                  resources::pods,
                                                  resources::services,
                                                  resources::config_maps,
                                                  resources::secrets,
                                                  resources::network_policies,
                                                  resources::persistent_volume_claims,
                                                  resources::priority_classes,
                                                  resources::events,
                                                  resources::replica_sets,
                                                  resources::stateful_sets,
                                                  resources::vc_cron_jobs,
                                                  resources::job_flows,
                                                  resources::job_templates,
                                                  resources::hyper_nodes,
                                                  resources::nodes,
                                                  resources::daemon_sets,
                                                  resources::batch_jobs,
                                                  resources::deployments,
                                                  resources::service_accounts,
                                                  resources::namespaces,
                                                  resources::resource_quotas};
  return all;
}

std::string text_of(const json::Value& value) {
  return value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
}

}  // namespace

std::string to_string(const Fault& fault) {
  const char* what = fault.what == Fault::What::refused        ? "refused"
                     : fault.what == Fault::What::crash_before ? "not made: a crash before it"
                                                               : "the last before a crash";
  return "write " + std::to_string(fault.write) + " is " + what;
}

Scenario::Scenario(ScenarioRig rig, std::optional<Fault> fault)
    : rig_(std::move(rig)),
      fault_(fault),
      simulation_(1),
      api_(simulation_.clock()),
      executor_(&simulation_.add("component")) {}

Scenario::~Scenario() {
  component_.reset();
  if (rig_.end) rig_.end(*this);
}

void Scenario::run(const json::Value& document) {
  document_ = document;
  if (const json::Array* given = json::array_at(document, {"given"}))
    for (const json::Value& object : *given) apply(object);
  start();
  settle();
  const json::Array* steps = json::array_at(document, {"steps"});
  ASSERT_TRUE(steps) << "a scenario needs steps";
  for (std::size_t i = 0; i < steps->size(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i + 1) + ": " + json::serialize((*steps)[i]));
    ASSERT_TRUE((*steps)[i].is_object());
    for (const auto& member : (*steps)[i].get_object())
      step(std::string(member.key()), member.value());
    if (::testing::Test::HasFailure()) return;
  }
}

void Scenario::start() {
  api_.on_write = [this](const kube::Write& write) { return before_write(write); };
  client_ = std::make_unique<FakeClient>(api_, *executor_);
  component_ = rig_.start(*this, *client_);
}

void Scenario::restart() {
  crashed_ = false;
  component_.reset();
  executor_->stop();
  executor_ = &simulation_.add("component again");
  start();
}

// A process that has died writes nothing more; the fault comes once.
std::optional<Error> Scenario::before_write(const kube::Write& write) {
  const Error gone{Code::unavailable, "the process has died"};
  if (crashed_) return gone;
  if (write.resource == resources::events) return std::nullopt;
  if (refusal_)
    if (std::optional<Error> error = refusal_(write)) return error;
  const int number = writes_++;
  if (!fault_ || fired_ || number != fault_->write) return std::nullopt;
  fired_ = faulted_ = true;
  if (fault_->what == Fault::What::refused) return Error{Code::unavailable, "a fault"};
  crashed_ = true;
  if (fault_->what == Fault::What::crash_before) return gone;
  return std::nullopt;
}

void Scenario::settle() {
  for (std::size_t steps = 0; simulation_.step(); ++steps) {
    ASSERT_LT(steps, kStepsMax) << "the component is spinning";
    if (crashed_) restart();
  }
  if (!faulted_) return;
  // Whatever was refused is tried again after a while, which what is expected knows nothing of.
  faulted_ = false;
  constexpr Nanos kRetries = std::chrono::milliseconds(100);
  ASSERT_TRUE(simulation_.run_for(kRetries, kStepsMax));
  simulation_.clock().jump_wall(-kRetries);
}

void Scenario::step(const std::string& verb, const json::Value& value) {
  if (verb == "apply") {
    apply(value);
  } else if (verb == "delete") {
    remove(value);
  } else if (verb == "pods") {
    for (const auto& member : value.get_object())
      set_pod(std::string(member.key()), member.value());
  } else if (verb == "gone") {
    for (const json::Value& pod : value.get_array())
      api_.finish_termination(kube::Key{"default", text_of(pod)});
  } else if (verb == "group") {
    set_group(value);
  } else if (verb == "advance") {
    advance(value);
  } else if (verb == "restart") {
    restart();
  } else if (verb == "refuse") {
    refuse(value);
  } else if (verb == "expect") {
    expect(value);
  } else if (auto found = rig_.verbs.find(verb); found != rig_.verbs.end()) {
    found->second(*this, value);
  } else {
    FAIL() << "unknown step " << verb;
  }
  settle();
}

const kube::Resource* Scenario::resource_of(std::string_view kind,
                                            std::string_view api_version) const {
  for (const std::vector<kube::Resource>* list : {&rig_.resources, &well_known()})
    for (const kube::Resource& one : *list)
      if (one.kind == kind && (api_version.empty() || one.api_version() == api_version))
        return &one;
  return nullptr;
}

kube::Key Scenario::key_of(const kube::Resource& resource, const json::Value& object) const {
  std::string name(json::string_at(object, {"name"}));
  if (name.empty()) name = json::string_at(object, {"metadata", "name"});
  std::string ns(json::string_at(object, {"namespace"}));
  if (ns.empty()) ns = json::string_at(object, {"metadata", "namespace"});
  if (resource.namespaced && ns.empty()) ns = "default";
  return {resource.namespaced ? ns : "", name};
}

void Scenario::apply(const json::Value& object) {
  const kube::Resource* resource =
      resource_of(json::string_at(object, {"kind"}), json::string_at(object, {"apiVersion"}));
  ASSERT_TRUE(resource) << "no such kind: " << json::serialize(object);
  const kube::Key key = key_of(*resource, object);
  kube::WriteResult done = api_.find(*resource, key) ? api_.patch(*resource, key, object)
                                                     : api_.create(*resource, object);
  ASSERT_TRUE(done) << done.error().message;
  const json::Value* status = json::find(object, "status");
  if (!status || *resource == resources::pod_groups) return;
  // Pods' statuses are written by their node, those of others by their controllers.
  ASSERT_TRUE(api_.patch(*resource, key, json::Object{{"status", *status}}, "status"));
}

void Scenario::remove(const json::Value& object) {
  const kube::Resource* resource =
      resource_of(json::string_at(object, {"kind"}), json::string_at(object, {"apiVersion"}));
  ASSERT_TRUE(resource);
  ASSERT_TRUE(api_.remove(*resource, key_of(*resource, object)));
}

void Scenario::advance(const json::Value& value) {
  Result<Nanos> duration = model::parse_go_duration(text_of(value));
  ASSERT_TRUE(duration);
  const MonoTime until = simulation_.clock().mono() + *duration;
  while (simulation_.clock().mono() < until) {
    // In small steps when the process may die on the way.
    Nanos left = until - simulation_.clock().mono();
    if (fault_ && !fired_) left = std::min<Nanos>(left, *duration / 16 + Nanos(1));
    ASSERT_TRUE(simulation_.run_for(left, kStepsMax));
    if (crashed_) restart();
  }
}

// "Running", "Failed 137 OOMKilled" (exit code and the container's reason), "Running x3"
// (restarts).
void Scenario::set_pod(const std::string& name, const json::Value& value) {
  std::istringstream text(text_of(value));
  std::string phase, more, why;
  text >> phase >> more >> why;
  const kube::Key key{"default", name};
  const json::Value* pod = api_.find(resources::pods, key);
  ASSERT_TRUE(pod) << "no pod " << name << "; there are: " << names(resources::pods);
  std::string title = rig_.container;
  if (const json::Array* all = json::array_at(*pod, {"spec", "containers"});
      title.empty() && all && !all->empty())
    title = json::string_at(all->front(), {"name"});
  json::Object container{{"name", title}, {"ready", phase == "Running"}, {"restartCount", 0}};
  if (more.starts_with('x')) container["restartCount"] = std::stoi(more.substr(1));
  if (phase == "Failed" || phase == "Succeeded") {
    int code = phase == "Succeeded" ? 0 : more.empty() ? 1 : std::stoi(more);
    json::Object ended{{"exitCode", code},
                       {"finishedAt", model::format_rfc3339(simulation_.clock().wall())}};
    if (!why.empty()) ended["reason"] = why;
    container["state"] = json::Object{{"terminated", std::move(ended)}};
  }
  if (phase != "Pending") {
    json::Object bound{{"spec", json::Object{{"nodeName", "n1"}}}};
    ASSERT_TRUE(api_.patch(resources::pods, key, std::move(bound)));
  }
  ASSERT_TRUE(api_.patch(
      resources::pods, key,
      json::Object{{"status",
                    json::Object{{"phase", phase}, {"containerStatuses", json::Array{container}}}}},
      "status"));
}

// {job: j, ...} of a vcjob's PodGroup, {name: g, ...} of any: phase, unschedulable: message.
void Scenario::set_group(const json::Value& value) {
  kube::Key key{"default", std::string(json::string_at(value, {"name"}))};
  if (std::string job(json::string_at(value, {"job"})); !job.empty()) {
    const json::Value* found = api_.find(resources::vcjobs, kube::Key{"default", job});
    ASSERT_TRUE(found);
    key.name = job + "-" + std::string(json::string_at(*found, {"metadata", "uid"}));
  }
  json::Object status;
  if (const json::Value* phase = json::find(value, "phase")) status["phase"] = *phase;
  if (const json::Value* message = json::find(value, "unschedulable"))
    status["conditions"] = json::Array{
        json::Object{{"type", "Unschedulable"},
                     {"status", "True"},
                     {"reason", "NotEnoughResources"},
                     {"lastTransitionTime", model::format_rfc3339(simulation_.clock().wall())},
                     {"message", *message}}};
  ASSERT_TRUE(api_.patch(resources::pod_groups, key, json::Object{{"status", std::move(status)}}))
      << "no group " << key.name;
}

// {kind: Pod, verb: create, times: 2}: the next writes of that kind fail.
void Scenario::refuse(const json::Value& value) {
  auto left = std::make_shared<std::int64_t>(json::int_at(value, {"times"}, 1));
  std::string kind(json::string_at(value, {"kind"})), verb(json::string_at(value, {"verb"}));
  std::string cause(json::string_at(value, {"cause"}));
  refusal_ = [left, kind, verb, cause](const kube::Write& write) -> std::optional<Error> {
    bool hit = write.resource.kind == kind &&
               ((verb == "create" && write.verb == kube::Write::Verb::create) ||
                (verb == "patch" && write.verb == kube::Write::Verb::patch) ||
                (verb == "delete" && write.verb == kube::Write::Verb::remove));
    if (!hit || *left <= 0) return std::nullopt;
    --*left;
    Error error{Code::unavailable, "the server is busy"};
    if (!cause.empty()) error.details.causes.push_back({cause, "", ""});
    return error;
  };
}

void Scenario::expect(const json::Value& value) {
  for (const auto& member : value.get_object()) {
    const std::string what(member.key());
    if (what == "objects") {
      for (const json::Value& object : member.value().get_array()) expect_object(object);
    } else if (what == "absent") {
      for (const json::Value& object : member.value().get_array()) expect_absent(object);
    } else if (what == "pods") {
      EXPECT_EQ(pods(), json::serialize(member.value()));
    } else if (what == "events") {
      // An event may be lost with the process, or be said twice.
      if (fault_) continue;
      for (const json::Value& event : member.value().get_array()) expect_event(event);
    } else if (auto found = rig_.expectations.find(what); found != rig_.expectations.end()) {
      found->second(*this, member.value());
    } else {
      ADD_FAILURE() << "unknown expectation " << what;
    }
  }
}

void Scenario::expect_object(const json::Value& wanted) {
  const kube::Resource* resource =
      resource_of(json::string_at(wanted, {"kind"}), json::string_at(wanted, {"apiVersion"}));
  ASSERT_TRUE(resource) << json::serialize(wanted);
  const kube::Key key = key_of(*resource, wanted);
  const json::Value* found = api_.find(*resource, key);
  ASSERT_TRUE(found) << "no " << resource->kind << " " << key.name
                     << "; there are: " << names(*resource);
  json::Value members = wanted;
  members.get_object().erase("kind");
  members.get_object().erase("name");
  members.get_object().erase("namespace");
  EXPECT_EQ(subset_mismatch(members, found, resource->kind + " " + key.name), "")
      << json::serialize(*found);
}

void Scenario::expect_absent(const json::Value& wanted) {
  const kube::Resource* resource =
      resource_of(json::string_at(wanted, {"kind"}), json::string_at(wanted, {"apiVersion"}));
  ASSERT_TRUE(resource);
  EXPECT_FALSE(api_.find(*resource, key_of(*resource, wanted))) << json::serialize(wanted);
}

// "Warning Reason message" in one string; a leading "no " wants it absent.
void Scenario::expect_event(const json::Value& wanted) {
  std::string text = text_of(wanted);
  const bool absent = text.starts_with("no ");
  if (absent) text.erase(0, 3);
  std::string all;
  bool found = false;
  for (const json::Value* event : api_.list(resources::events)) {
    std::string line = std::string(json::string_at(*event, {"type"})) + " " +
                       std::string(json::string_at(*event, {"reason"})) + " " +
                       std::string(json::string_at(*event, {"message"}));
    found |= absent ? line.starts_with(text) : line == text;
    all += line + "\n";
  }
  EXPECT_NE(found, absent) << "wanted event: " << text << "\nthere are:\n" << all;
}

std::string Scenario::names(const kube::Resource& resource) const {
  std::string all;
  for (const json::Value* object : api_.list(resource))
    all += std::string(json::string_at(*object, {"metadata", "name"})) + " ";
  return all;
}

// {name: phase} of all pods; a terminating one says so.
std::string Scenario::pods() const {
  json::Object all;
  for (const json::Value* pod : api_.list(resources::pods)) {
    std::string phase(json::string_at(*pod, {"status", "phase"}));
    if (!json::string_at(*pod, {"metadata", "deletionTimestamp"}).empty()) phase = "terminating";
    all[json::string_at(*pod, {"metadata", "name"})] = phase.empty() ? "Pending" : phase;
  }
  return json::serialize(all);
}

std::vector<json::Value> scenario_documents(const std::string& directory, const std::string& name) {
  std::ifstream file("test/scenarios/" + directory + "/" + name + ".yaml");
  EXPECT_TRUE(file) << "run from the source directory";
  std::stringstream text;
  text << file.rdbuf();
  Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(text.str());
  EXPECT_TRUE(documents) << documents.error().message;
  std::vector<json::Value> values;
  if (documents)
    for (json::YamlDocument& one : *documents) values.push_back(std::move(one.value));
  return values;
}

std::vector<std::string> scenario_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("test/scenarios/" + directory, error))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void run_scenarios(const ScenarioRig& rig, const std::string& directory, const std::string& name) {
  for (const json::Value& document : scenario_documents(directory, name)) {
    SCOPED_TRACE(std::string(json::string_at(document, {"scenario"})));
    Scenario(rig).run(document);
  }
}

void run_scenarios_with_faults(const ScenarioRig& rig, const std::string& directory,
                               const std::string& name) {
  constexpr int kShort = 6;
  for (const json::Value& document : scenario_documents(directory, name)) {
    SCOPED_TRACE(std::string(json::string_at(document, {"scenario"})));
    Scenario plain(rig);
    plain.run(document);
    for (int write = 0; write < plain.writes(); ++write)
      for (int way = 0; way < 3; ++way) {
        if (plain.writes() > kShort && way != write % 3) continue;
        const Fault fault{static_cast<Fault::What>(way), write};
        SCOPED_TRACE(to_string(fault));
        Scenario(rig, fault).run(document);
        if (::testing::Test::HasFailure()) return;
      }
  }
}

}  // namespace hekla::test
