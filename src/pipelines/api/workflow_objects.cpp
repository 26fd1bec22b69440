#include "pipelines/api/workflow_objects.h"

#include <map>
#include <optional>

#include "base/log.h"
#include "framework/any_object.h"
#include "framework/writes.h"
#include "json/parse.h"
#include "json/patch.h"
#include "kube/cache_set.h"
#include "model/time.h"
#include "pipelines/api/new_run.h"
#include "pipelines/argo/nodes.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/store/run_records.h"

namespace hekla::pipelines::api {
namespace {

const kube::Resource kWorkflows{"argoproj.io", "v1alpha1", "workflows", "Workflow"};
constexpr const char* kRunLabel = "pipeline/runid";
constexpr Nanos kBetweenWrites = std::chrono::seconds(1), kLater = std::chrono::seconds(2);

using framework::AnyObject;
using framework::AnyRef;

// A run as its object shall be; nothing when the run is gone.
using Shown = std::optional<json::Value>;

Result<Shown> load_shown(records::Database& database, const std::string& id) {
  Result<store::RunRecord> record = store::load_run(database, id);
  if (!record && record.error().code == Code::not_found) return Shown();
  if (!record) return std::unexpected(record.error());
  const ir::Pipeline pipeline = TRY(argo::read_workflow(record->package));
  records::Statement* row = TRY(database.query("SELECT error FROM runs WHERE id = ?1", {id}));
  const std::string error = TRY(row->step()) ? row->text(0) : "";
  return Shown(
      argo::shown_workflow({record->package, pipeline, record->run, record->state, error}));
}

std::string run_of(const AnyObject& object) {
  const auto found = object.metadata.labels.find(kRunLabel);
  return found == object.metadata.labels.end() ? std::string() : found->second;
}

bool is_shut_down(const AnyObject& object) {
  return !json::string_at(object.spec, {"shutdown"}).empty();
}

}  // namespace

struct WorkflowObjects::State : std::enable_shared_from_this<WorkflowObjects::State> {
  explicit State(WorkflowOptions given)
      : options(std::move(given)),
        caches(*options.client),
        objects(caches.of<AnyObject>(kWorkflows, {.optional = true})) {}

  // Whether a run's object is being written, and shall be again.
  struct Showing {
    bool busy = false, again = false;
  };

  void start();
  void look_at(const AnyRef& before, const AnyRef& after);
  void adopt(const AnyObject& object);
  void terminate(const std::string& id);
  void show(const std::string& id);
  void shown(const std::string& id, const Shown& wanted);
  void settle(const std::string& id, bool done);
  void refuse(const AnyObject& object, const std::string& reason);
  Executor& executor() { return options.client->executor(); }

  WorkflowOptions options;
  kube::CacheSet caches;
  kube::Informer<AnyObject>& objects;
  std::map<std::string, Showing> showing;
  int by_run = -1;
};

void WorkflowObjects::State::start() {
  by_run = objects.add_index([](const AnyObject& object, std::vector<std::string>& keys) {
    if (std::string id = run_of(object); !id.empty()) keys.push_back(std::move(id));
  });
  objects.on_change([this](const AnyRef& before, const AnyRef& after) { look_at(before, after); });
  caches.start();
}

void WorkflowObjects::State::look_at(const AnyRef& before, const AnyRef& after) {
  if (!after) {
    if (const std::string id = run_of(*before); !id.empty()) terminate(id);
    return;
  }
  const std::string id = run_of(*after);
  const bool fresh = json::string_at(after->status, {"phase"}).empty();
  if (id.empty() && fresh && !after->metadata.deletionTimestamp) return adopt(*after);
  if (!id.empty() && is_shut_down(*after) && (!before || !is_shut_down(*before))) terminate(id);
}

// A Workflow that somebody has made becomes a run with the object's uid as its id, so that doing
// this twice makes no second run.
void WorkflowObjects::State::adopt(const AnyObject& object) {
  json::Value workflow = object.to_json();
  json::at_path(workflow, {"apiVersion"}) = json::Value(kWorkflows.api_version());
  json::at_path(workflow, {"kind"}) = json::Value(kWorkflows.kind);
  for (const char* member : {"managedFields", "resourceVersion", "generation"})
    json::at_path(workflow, {"metadata"}).as_object().erase(member);
  workflow.as_object().erase("status");
  const kube::Key key = framework::key_of(object.metadata);
  const std::string id = object.metadata.uid;
  const json::Value body = json::Object{{"display_name", key.name}, {"pipeline_spec", workflow}};
  auto made = std::make_shared<AnyObject>(object);
  options.records->ask<std::string>(
      [self = shared_from_this(), key, id, body,
       now = executor().clock().wall()](records::Database& database) -> Result<std::string> {
        const net::Request nobodys;
        Call call{nobodys, database, now, *self->options.rng, {}, {}};
        return insert_run(call, body, {.id = id, .ns = key.ns, .resource_name = key.name});
      },
      executor(),
      [self = shared_from_this(), id, made](Result<std::string> run) {
        if (!run && run.error().code == Code::bad_request)
          return self->refuse(*made, run.error().message);
        if (!run && run.error().code != Code::already_exists)
          return log_error("pipelines",
                           "workflow " + made->metadata.name + ": " + run.error().message);
        if (self->options.touched) self->options.touched({id});
        self->show(id);
      });
}

void WorkflowObjects::State::refuse(const AnyObject& object, const std::string& reason) {
  const std::string now = model::format_rfc3339(executor().clock().wall());
  options.client->write(
      framework::merge_patch(kWorkflows, framework::key_of(object.metadata),
                             json::Object{{"status", json::Object{{"phase", "Error"},
                                                                  {"message", reason},
                                                                  {"startedAt", now},
                                                                  {"finishedAt", now}}}}),
      [](kube::WriteResult result) {
        if (!result) log_error("pipelines", "workflow: " + result.error().message);
      });
}

void WorkflowObjects::State::terminate(const std::string& id) {
  options.records->submit(
      [id, now = executor().clock().wall()](records::Database& database) -> Result<void> {
        records::Statement* row =
            TRY(database.query("SELECT terminating FROM runs WHERE id = ?1 AND open = 1", {id}));
        if (!TRY(row->step()) || row->integer(0) != 0) return {};
        TRY(database.run("UPDATE runs SET terminating = 1 WHERE id = ?1", {id}));
        return store::set_state(database, id, "CANCELING", "", now);
      },
      executor(),
      [self = shared_from_this(), id](Result<void> done) {
        if (!done) return log_error("pipelines", done.error().message, {{"run", id}});
        if (self->options.touched) self->options.touched({id});
      });
}

void WorkflowObjects::State::show(const std::string& id) {
  Showing& now = showing[id];
  if (now.busy) {
    now.again = true;
    return;
  }
  now.busy = true;
  now.again = false;
  options.records->ask<Shown>(
      [id](records::Database& database) { return load_shown(database, id); }, executor(),
      [self = shared_from_this(), id](Result<Shown> wanted) {
        if (wanted) return self->shown(id, *wanted);
        log_error("pipelines", wanted.error().message, {{"run", id}});
        self->settle(id, true);
      });
}

void WorkflowObjects::State::shown(const std::string& id, const Shown& wanted) {
  const auto known = by_run < 0 ? std::vector<AnyRef>() : objects.by(by_run, id);
  std::optional<kube::Write> write;
  if (!wanted) {
    for (const AnyRef& one : known)
      write = framework::remove(kWorkflows, framework::key_of(one->metadata), one->metadata.uid);
  } else {
    const kube::Key key{json::text_at(*wanted, {"metadata", "namespace"}),
                        json::text_at(*wanted, {"metadata", "name"})};
    const AnyRef there = objects.get(key);
    if (there) {
      const json::Value* labels = json::find_path(*wanted, {"metadata", "labels"});
      const json::Value none = json::Object{};
      json::Object patch{
          {"status", json::diff_merge(there->status.is_object() ? there->status : none,
                                      *json::find(*wanted, "status"))}};
      if (labels) patch.emplace("metadata", json::Object{{"labels", *labels}});
      write = framework::merge_patch(kWorkflows, key, std::move(patch));
    } else {
      json::Value body = *wanted;
      json::Object& metadata = json::at_path(body, {"metadata"}).as_object();
      for (const char* member : {"uid", "creationTimestamp", "generateName"})
        metadata.erase(member);
      write = framework::create(kWorkflows, key.ns, std::move(body));
    }
  }
  if (!write) return settle(id, true);
  options.client->write(
      std::move(*write), [self = shared_from_this(), id, write = *write](kube::WriteResult result) {
        if (result) self->caches.overlay(write, *result);
        const bool done = result || result.error().code == Code::not_found;
        if (!done)
          log_error("pipelines", "the workflow of run " + id + ": " + result.error().message);
        self->settle(id, done);
      });
}

// After a while the object may be written again: not after every step of many small ones.
void WorkflowObjects::State::settle(const std::string& id, bool done) {
  if (!done) showing[id].again = true;
  executor().post_after(done ? kBetweenWrites : kLater, [self = shared_from_this(), id] {
    const Showing was = self->showing[id];
    self->showing.erase(id);
    if (was.again) self->show(id);
  });
}

WorkflowObjects::WorkflowObjects(WorkflowOptions options)
    : state_(std::make_shared<State>(std::move(options))) {}
WorkflowObjects::~WorkflowObjects() = default;
void WorkflowObjects::start() { state_->start(); }
void WorkflowObjects::changed(const std::string& id) { state_->show(id); }

}  // namespace hekla::pipelines::api
