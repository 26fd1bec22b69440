#include "pipelines/driver/driver.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/digest.h"
#include "base/log.h"
#include "framework/pods.h"
#include "framework/writes.h"
#include "json/parse.h"
#include "kube/cache_set.h"
#include "kube/reconcile.h"
#include "model/core.h"
#include "model/time.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/driver/claim_steps.h"
#include "pipelines/driver/resource_step.h"
#include "pipelines/driver/step_pod.h"
#include "pipelines/driver/step_result.h"
#include "pipelines/engine/cache_key.h"
#include "pipelines/engine/engine.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/store/run_records.h"

namespace hekla::pipelines::driver {
namespace {

using engine::Node;
using engine::NodeKind;
using engine::NodeState;

constexpr std::size_t kResultMax = std::size_t{256} << 20;
constexpr Nanos kLater = std::chrono::seconds(2);
// A pod that the cache does not show may have been made a moment ago.
constexpr const char* kRunLabel = "pipeline/runid";

// `late`: its deadline has ended it, which is a failure.
std::string_view run_state(const engine::Run& run, bool late) {
  const bool canceled = run.terminating && !late;
  switch (run.state()) {
    case NodeState::succeeded:
    case NodeState::cached:
      return "SUCCEEDED";
    case NodeState::failed:
      return canceled ? "CANCELED" : "FAILED";
    case NodeState::canceled:
      return late ? "FAILED" : "CANCELED";
    default:
      return canceled ? "CANCELING" : "RUNNING";
  }
}

// One run, as far as this process knows it.
struct Held {
  ir::Pipeline pipeline;
  store::RunRecord record;
  bool loaded = false, stale = true, gone = false;
  bool busy = false;              // a commit or a question to the records is under way
  std::set<std::string> reading;  // pods whose results are being read
  std::set<std::string> working;  // attempts of resource steps, by the name a pod would have
  std::map<std::string, engine::NodeEnd> ends;  // by pod
  std::set<std::string> changed;                // nodes to commit
  std::set<std::string> granted;                // tokens
  bool late = false;

  bool is_late(WallTime now) const {
    if (pipeline.deadline.count() == 0) return false;
    const Node* root = record.run.find("root");
    return (root && root->finished ? *root->finished : now) >=
           record.run.facts.created + pipeline.deadline;
  }
};

}  // namespace

struct Driver::State : std::enable_shared_from_this<Driver::State> {
  explicit State(DriverOptions given)
      : options(std::move(given)),
        caches(*options.client),
        pods(caches.of<model::Pod>(kube::resources::pods, {.label_selector = kRunLabel})),
        resources({options.client, options.discovery, options.authorizer}),
        loop(caches, {.name = "pipelines"},
             [this](const kube::Key& key, WallTime now) { return round(key.name, now); }),
        old_pods(*options.client, pods, options.keep_log,
                 [this](const std::string& run) { return runs.contains(run); }) {}

  void start();
  void touch(const std::string& id);
  void again(const std::string& id) { loop.add({"", id}); }

  kube::Round round(const std::string& id, WallTime now);
  void load(const std::string& id);
  void look_at_pods(const std::string& id, Held& held, WallTime now);
  void look_at_pod(const std::string& id, Held& held, const Node& node, const model::Pod& pod,
                   WallTime now);
  void read_result(const std::string& id, Held& held, const Node& node, const model::Pod& pod);
  bool ask_cache(const std::string& id, Held& held);
  void commit(const std::string& id, Held& held, WallTime now);
  kube::Round writes(const std::string& id, Held& held, WallTime now);
  void start_resource(const std::string& id, Held& held, const Node& node);
  bool may_start(const std::string& id, const Held& held, std::size_t making) const;
  // Whether there is a write to make it.
  bool start_pod(Held& held, const Node& node, WallTime now, std::vector<kube::Write>& writes);
  kube::Round remove_all(const std::string& id);
  // The run's own account, else the pipeline's, else the one for all.
  std::string account_of(const Held& held) const {
    const std::string& own = held.record.service_account;
    if (!own.empty()) return own;
    const std::string& account = held.pipeline.service_account;
    return account.empty() ? options.default_service_account : account;
  }
  std::string token_of(const engine::Run& run, const Node& node) const {
    return hex_encode(hmac_sha256(
        options.token_key, run.facts.id + "\n" + node.id + "\n" + std::to_string(node.attempt)));
  }
  void fail_node(Held& held, const Node& node, const std::string& error, WallTime now) {
    engine::NodeEnd end{node.id, node.attempt, false, {}, error, false};
    if (engine::end_node(held.pipeline, held.record.run, end, now)) held.changed.insert(node.id);
  }

  DriverOptions options;
  kube::CacheSet caches;
  kube::Informer<model::Pod>& pods;
  ResourceSteps resources;
  kube::ReconcileLoop loop;
  OldPods old_pods;
  WorkerPool readers{"results", 2};
  std::map<std::string, Held> runs;
  int by_run = -1;
};

namespace {

// A result as it was stored, if it is the one the pod's last words name.
Result<json::Value> stored_result(ObjectBytes& objects, const ObjectPlace& place,
                                  const std::string& digest) {
  Result<OpenObject> object = objects.open(place.bucket, place.key);
  if (!object) return std::unexpected(object.error());
  std::string text(std::min<std::uint64_t>(object->bytes, kResultMax), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t got = ::read(object->descriptor, text.data() + at, text.size() - at);
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  ::close(object->descriptor);
  if (at < text.size()) return fail(Code::unavailable, "the result cannot be read");
  if (sha256_hex(text) != digest)
    return fail(Code::invalid, "the stored result is not the one that the pod has named");
  return json::parse(text);
}

const model::ContainerStateTerminated* ended_main(const model::Pod& pod) {
  for (const model::ContainerStatus& status : pod.status.containerStatuses)
    if (status.name == "main" && status.state.terminated) return &*status.state.terminated;
  return nullptr;
}

// A pod that will not be taken a second later either. Quotas and accounts change.
bool is_refusal(const Error& error) {
  if (error.code == Code::forbidden)
    return error.message.find("violates PodSecurity") != std::string::npos;
  return error.code == Code::bad_request || error.code == Code::invalid ||
         error.code == Code::not_found;
}

std::string last_words(const model::Pod& pod) {
  if (!pod.status.message.empty()) return pod.status.reason + ": " + pod.status.message;
  const model::ContainerStateTerminated* ended = ended_main(pod);
  if (ended && ended->reason == "OOMKilled") return "the step was out of memory (OOMKilled)";
  if (ended) return "the step has ended with exit code " + std::to_string(ended->exitCode);
  return "the pod has ended: " + pod.status.phase + " " + pod.status.reason;
}

}  // namespace

void Driver::State::start() {
  by_run = pods.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
    const auto label = pod.metadata.labels.find(kRunLabel);
    if (label != pod.metadata.labels.end()) keys.push_back(label->second);
  });
  pods.on_change([this](const auto& before, const auto& after) {
    const model::Pod& pod = after ? *after : *before;
    const auto label = pod.metadata.labels.find(kRunLabel);
    if (label != pod.metadata.labels.end()) again(label->second);
  });
  caches.on_synced([self = shared_from_this()] {
    self->loop.enable();
    self->options.records->ask<std::vector<std::string>>(
        store::open_runs, self->options.client->executor(),
        [self](Result<std::vector<std::string>> ids) {
          if (!ids) return log_error("pipelines", ids.error().message);
          for (const std::string& id : *ids) self->touch(id);
        });
  });
  caches.start();
}

void Driver::State::touch(const std::string& id) {
  runs[id].stale = true;
  again(id);
}

kube::Round Driver::State::round(const std::string& id, WallTime now) {
  const auto found = runs.find(id);
  if (found == runs.end()) return {};  // ended, or nobody's
  Held& held = found->second;
  if (held.busy) return {};
  if (held.gone) return remove_all(id);
  if (held.stale) {
    load(id);
    return {};
  }
  engine::Run& run = held.record.run;
  held.late = held.is_late(now) && !run.terminating;
  if ((run.terminating || held.late) && !engine::is_final(run.state())) {
    const Node* root = run.find("root");
    if (root && !root->canceling)
      for (const std::string& node : engine::terminate(run, now).changed) held.changed.insert(node);
    run.terminating = !held.late;
  }
  look_at_pods(id, held, now);
  const engine::Step step = engine::advance(held.pipeline, run, now);
  held.changed.insert(step.changed.begin(), step.changed.end());
  if (ask_cache(id, held)) return {};
  if (!held.changed.empty() || held.record.state != run_state(run, held.late)) {
    commit(id, held, now);
    return {};
  }
  kube::Round round = writes(id, held, now);
  if (!held.changed.empty()) again(id);
  std::optional<WallTime> wake = step.wake_at;
  if (held.pipeline.deadline.count() > 0 && !held.late && !engine::is_final(run.state()))
    wake = std::min(wake.value_or(WallTime::max()), run.facts.created + held.pipeline.deadline);
  if (wake) round.again_after = std::max(*wake - now, Nanos(0));
  return round;
}

void Driver::State::load(const std::string& id) {
  Held& held = runs[id];
  held.busy = true;
  held.stale = false;
  options.records->ask<store::RunRecord>(
      [id](records::Database& database) { return store::load_run(database, id); },
      options.client->executor(),
      [self = shared_from_this(), id](Result<store::RunRecord> record) {
        Held& held = self->runs[id];
        held.busy = false;
        if (!record) {
          held.gone = record.error().code == Code::not_found;
          if (!held.gone) log_error("pipelines", record.error().message, {{"run", id}});
          return held.gone ? self->again(id) : self->loop.add_after({"", id}, kLater);
        }
        Result<ir::Package> package = ir::package_from_json(record->package);
        Result<ir::Pipeline> pipeline =
            package ? argo::read_pipeline(*package)
                    : Result<ir::Pipeline>(std::unexpected(package.error()));
        if (!pipeline) return log_error("pipelines", pipeline.error().message, {{"run", id}});
        held.record = std::move(*record);
        held.pipeline = std::move(*pipeline);
        held.record.run.facts.service_account = self->account_of(held);
        held.loaded = true;
        held.changed.clear();
        self->again(id);
      });
}

void Driver::State::look_at_pods(const std::string& id, Held& held, WallTime now) {
  engine::Run& run = held.record.run;
  std::vector<std::string> open;
  for (const auto& [node_id, node] : run.nodes)
    if ((node.kind == NodeKind::container || node.kind == NodeKind::resource) &&
        (node.state == NodeState::pending || node.state == NodeState::running))
      open.push_back(node_id);
  for (const std::string& node_id : open) {
    const Node& node = run.nodes.at(node_id);
    const std::string name = engine::step_pod_name(run, node);
    const auto pod = pods.get({held.record.ns, name});
    if (const auto end = held.ends.find(name); end != held.ends.end()) {
      if (engine::end_node(held.pipeline, run, end->second, now)) held.changed.insert(node_id);
      held.ends.erase(end);
    } else if (pod) {
      look_at_pod(id, held, node, *pod, now);
    } else if (node.state == NodeState::running && node.kind == NodeKind::container) {
      engine::NodeEnd end{node_id, node.attempt, false, {}, "its pod was removed", true};
      if (engine::end_node(held.pipeline, run, end, now)) held.changed.insert(node_id);
    }
  }
}

void Driver::State::look_at_pod(const std::string& id, Held& held, const Node& node,
                                const model::Pod& pod, WallTime now) {
  if (framework::pod_finished(pod)) return read_result(id, held, node, pod);
  if (pod.status.phase == "Running" && node.state == NodeState::pending &&
      engine::begin_node(held.record.run, node.id, now))
    held.changed.insert(node.id);
}

void Driver::State::read_result(const std::string& id, Held& held, const Node& node,
                                const model::Pod& pod) {
  const std::string name = pod.metadata.name;
  if (!held.reading.insert(name).second) return;
  if (options.keep_log)
    options.keep_log(id, {pod.metadata.ns, name, pod.metadata.uid}, [](const Result<void>&) {});
  const engine::Run& run = held.record.run;
  const ObjectPlace place = step_result_place(run, node);
  const model::ContainerStateTerminated* ended = ended_main(pod);
  const std::string digest = ended ? ended->message : "", words = last_words(pod);
  engine::NodeEnd end{node.id, node.attempt, false, {}, words, true};
  const json::Value input = engine::executor_input(held.pipeline, run, node);
  const ir::Component component = engine::component_of(held.pipeline, node.component);
  Task task = [self = shared_from_this(), id, name, place, digest, end, input,
               component]() mutable {
    Result<json::Value> result = stored_result(*self->options.objects, place, digest);
    if (!result) {
      end.error += "; it has left no result: " + result.error().message;
    } else if (const std::string_view why = json::string_at(*result, {"error"}); !why.empty()) {
      end.error = std::string(why);
    } else if (json::int_at(*result, {"exitCode"}, 1) == 0) {
      Result<json::Object> outputs = step_outputs(component, input, *result);
      end.succeeded = outputs.has_value();
      if (outputs)
        end.outputs = std::move(*outputs);
      else
        end.error = outputs.error().message;
      if (end.succeeded) end.error.clear();
    }
    self->options.client->executor().post([self, id, name, end = std::move(end)]() mutable {
      Held& held = self->runs[id];
      held.reading.erase(name);
      held.ends.insert_or_assign(name, std::move(end));
      self->again(id);
    });
  };
  if (readers.try_post(task)) return;
  held.reading.erase(name);
  loop.add_after({"", id}, kLater);
}

bool Driver::State::ask_cache(const std::string& id, Held& held) {
  std::map<std::string, std::string> wanted;  // node, fingerprint
  for (const auto& [node_id, node] : held.record.run.nodes)
    if (node.state == NodeState::checking) wanted.emplace(node_id, node.fingerprint);
  if (wanted.empty()) return false;
  using Hits = std::map<std::string, std::optional<json::Object>>;
  held.busy = true;
  options.records->ask<Hits>(
      [wanted, pipeline = held.pipeline.name,
       ns = held.record.ns](records::Database& database) -> Result<Hits> {
        Hits hits;
        for (const auto& [node, fingerprint] : wanted)
          hits.emplace(node, TRY(store::cached_outputs(database, fingerprint, pipeline, ns)));
        return hits;
      },
      options.client->executor(),
      [self = shared_from_this(), id](Result<Hits> hits) {
        Held& held = self->runs[id];
        held.busy = false;
        if (hits)
          for (const auto& [node, outputs] : *hits)
            if (engine::answer_cache(held.record.run, node, outputs,
                                     self->options.client->executor().clock().wall()))
              held.changed.insert(node);
        hits ? self->again(id) : self->loop.add_after({"", id}, kLater);
      });
  return true;
}

void Driver::State::commit(const std::string& id, Held& held, WallTime now) {
  held.busy = true;
  auto run = std::make_shared<const engine::Run>(held.record.run);
  const std::string state(run_state(*run, held.late));
  const Node* root = run->find("root");
  std::string error = state == "FAILED" && root ? root->error : "";
  if (state == "FAILED" && held.late)
    error =
        "the run has exceeded its deadline of " + model::format_go_duration(held.pipeline.deadline);
  options.records->submit(
      [run, changed = std::move(held.changed), state, error, now, pipeline = held.pipeline.name,
       ns = held.record.ns](records::Database& database) -> Result<void> {
        TRY(store::save_nodes(database, *run, changed));
        for (const std::string& node_id : changed) {
          const Node* node = run->find(node_id);
          if (node && node->state == NodeState::succeeded && !node->fingerprint.empty())
            TRY(store::remember_outputs(database, *run, *node, pipeline, ns, now));
        }
        return store::set_state(database, run->facts.id, state, error, now);
      },
      options.client->executor(),
      [self = shared_from_this(), id, state](Result<void> done) {
        Held& held = self->runs[id];
        held.busy = false;
        held.changed.clear();
        if (done) {
          held.record.state = state;
          if (held.pipeline.argo && self->options.workflow_changed)
            self->options.workflow_changed(id);
          if (self->options.changed) self->options.changed(id);
          return self->again(id);
        }
        // Memory is ahead of the records now: begin from those.
        log_error("pipelines", done.error().message, {{"run", id}});
        held.stale = true;
        self->loop.add_after({"", id}, kLater);
      });
}

bool Driver::State::start_pod(Held& held, const Node& node, WallTime now,
                              std::vector<kube::Write>& writes) {
  const engine::Run& run = held.record.run;
  const std::string token = token_of(run, node);
  if (!held.granted.contains(token)) {
    Result<LaunchGrant> grant = step_grant(held.pipeline, run, node);
    if (!grant) {
      fail_node(held, node, grant.error().message, now);
      return false;
    }
    options.launches->grant(token, std::move(*grant));
    held.granted.insert(token);
  }
  if (pods.get({held.record.ns, engine::step_pod_name(run, node)})) return false;
  if (node.state != NodeState::pending) return false;
  Result<json::Value> pod =
      step_pod(held.pipeline, run, node,
               {account_of(held), options.launch_address, token, held.record.queue});
  if (!pod) {
    fail_node(held, node, pod.error().message, now);
    return false;
  }
  writes.push_back(framework::create(kube::resources::pods, held.record.ns, std::move(*pod)));
  return true;
}

// Whether one more pod is within the limit of the pipeline.
bool Driver::State::may_start(const std::string& id, const Held& held, std::size_t making) const {
  if (held.pipeline.parallelism == 0) return true;
  std::size_t active = making;
  for (const auto& pod : pods.by(by_run, id)) active += framework::pod_active(*pod);
  return active < static_cast<std::size_t>(held.pipeline.parallelism);
}

void Driver::State::start_resource(const std::string& id, Held& held, const Node& node) {
  const engine::Run& run = held.record.run;
  const std::string name = engine::step_pod_name(run, node);
  if (held.ends.contains(name) || !held.working.insert(name).second) return;
  const ir::Component& component = engine::component_of(held.pipeline, node.component);
  const json::Value input = engine::executor_input(held.pipeline, run, node);
  const engine::ContainerScope scope{component,
                                     input,
                                     run,
                                     engine::parent_id(node.id),
                                     node.task,
                                     name,
                                     node.attempt - node.first_attempt};
  ResourceJob job;
  job.step = *held.pipeline.executors.at(component.executor).resource;
  for (std::string* text : {&job.step.manifest, &job.step.success, &job.step.failure})
    *text = engine::fill_text(*text, scope);
  // Begun before a crash: the object may be gone already.
  if (node.state == NodeState::running) job.step.may_be_missing = true;
  job.mark = run.facts.id + "/" + node.id + "/" + std::to_string(node.attempt);
  job.ns = held.record.ns;
  job.service_account = account_of(held);
  job.end = {node.id, node.attempt, false, {}, "", true};
  job.wanted = [self = shared_from_this(), id, node_id = node.id, attempt = node.attempt] {
    const auto found = self->runs.find(id);
    const Node* open = found == self->runs.end() ? nullptr : found->second.record.run.find(node_id);
    return open && open->attempt == attempt && !engine::is_final(open->state);
  };
  job.done = [self = shared_from_this(), id, name](engine::NodeEnd end) {
    Held& held = self->runs[id];
    held.working.erase(name);
    held.ends.insert_or_assign(name, std::move(end));
    self->again(id);
  };
  if (engine::begin_node(held.record.run, node.id, options.client->executor().clock().wall()))
    held.changed.insert(node.id);
  resources.start(std::move(job));
}

kube::Round Driver::State::writes(const std::string& id, Held& held, WallTime now) {
  kube::Round round;
  const engine::Run& run = held.record.run;
  std::set<std::string> wanted;
  std::vector<std::pair<std::string, int>> claims, steps;  // node and its write
  std::vector<std::string> open;
  for (const auto& [node_id, node] : run.nodes)
    if (node.state == NodeState::pending || node.state == NodeState::running)
      open.push_back(node_id);
  for (const std::string& node_id : open) {
    const Node& node = run.nodes.at(node_id);
    if (node.kind == NodeKind::container) {
      const std::string name = engine::step_pod_name(run, node);
      wanted.insert(name);
      if (!pods.get({held.record.ns, name}) && !may_start(id, held, steps.size())) continue;
      if (start_pod(held, node, now, round.writes))
        steps.emplace_back(node_id, static_cast<int>(round.writes.size() - 1));
    } else if (node.kind == NodeKind::resource) {
      start_resource(id, held, node);
    } else if (node.kind == NodeKind::create_pvc || node.kind == NodeKind::delete_pvc) {
      Result<kube::Write> write = claim_write(run, node, held.record.ns);
      if (!write)
        fail_node(held, node, write.error().message, now);
      else
        claims.emplace_back(node_id, static_cast<int>(round.writes.size())),
            round.writes.push_back(std::move(*write));
    }
  }
  for (const auto& pod : pods.by(by_run, id))
    if (framework::pod_active(*pod) && !wanted.contains(pod->metadata.name))
      round.writes.push_back(framework::remove(
          kube::resources::pods, {pod->metadata.ns, pod->metadata.name}, pod->metadata.uid));
  if (engine::is_final(run.state()) && round.writes.empty() && held.reading.empty() &&
      held.changed.empty()) {
    for (const std::string& token : held.granted) options.launches->revoke(token);
    runs.erase(id);
    if (options.keep_log) old_pods.look();
    return round;
  }
  round.settle = [self = shared_from_this(), id, claims,
                  steps](const std::vector<kube::WriteResult>& results) -> Result<void> {
    Held& held = self->runs[id];
    const WallTime at = self->options.client->executor().clock().wall();
    std::set<std::size_t> claimed;
    for (const auto& [node_id, index] : claims) {
      claimed.insert(static_cast<std::size_t>(index));
      const Node* node = held.record.run.find(node_id);
      if (node == nullptr) continue;
      const engine::NodeEnd end =
          claim_end(held.record.run, *node, results[static_cast<std::size_t>(index)]);
      if (engine::end_node(held.pipeline, held.record.run, end, at)) held.changed.insert(node_id);
    }
    for (const auto& [node_id, index] : steps) {
      const kube::WriteResult& result = results[static_cast<std::size_t>(index)];
      const Node* node = held.record.run.find(node_id);
      if (result || node == nullptr || !is_refusal(result.error())) continue;
      claimed.insert(static_cast<std::size_t>(index));
      self->fail_node(held, *node, "its pod was refused: " + result.error().message, at);
    }
    if (!claims.empty() || !held.changed.empty()) self->again(id);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] || claimed.contains(i)) continue;
      const Code code = results[i].error().code;
      if (code != Code::already_exists && code != Code::not_found)
        return std::unexpected(results[i].error());
    }
    return {};
  };
  return round;
}

kube::Round Driver::State::remove_all(const std::string& id) {
  kube::Round round;
  for (const auto& pod : pods.by(by_run, id))
    if (!pod->metadata.deletionTimestamp)
      round.writes.push_back(framework::remove(
          kube::resources::pods, {pod->metadata.ns, pod->metadata.name}, pod->metadata.uid));
  if (!round.writes.empty()) return round;
  if (options.workflow_changed) options.workflow_changed(id);
  for (const std::string& token : runs[id].granted) options.launches->revoke(token);
  runs.erase(id);
  return round;
}

Driver::Driver(DriverOptions options) : state_(std::make_shared<State>(std::move(options))) {}
Driver::~Driver() { state_->readers.stop(); }
void Driver::start() { state_->start(); }
void Driver::touched(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) state_->touch(id);
}

}  // namespace hekla::pipelines::driver
