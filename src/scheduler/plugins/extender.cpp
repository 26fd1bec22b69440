// extender: asks a service of the user's over HTTP, in JSON of our own (docs/extender.md). Which
// questions are asked is said by verbs: an argument extender.<question>Verb names the path below
// extender.urlPrefix to POST to; a question without a verb is not asked.
//
// Arguments: extender.urlPrefix, extender.httpTimeout (1s), extender.ignorable (false: an extender
// that does not answer refuses), extender.managedResources (none: pods that request none of these
// are not asked about), and the verbs extender.onSessionOpenVerb, onSessionCloseVerb,
// predicateVerb, prioritizeVerb, preemptableVerb, reclaimableVerb, queueOverusedVerb,
// jobEnqueueableVerb, jobEnqueuedVerb, jobReadyVerb, allocateFuncVerb, deallocateFuncVerb.
//
// Differs from Volcano: bodies are documented and stable where Volcano sends its internal
// structures; all nodes of a question travel in one call; an extender that fails makes a job not
// ready.
#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "json/parse.h"
#include "model/time.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

constexpr std::string_view kVerbs[] = {"onSessionOpen", "onSessionClose", "predicate",
                                       "prioritize",    "preemptable",    "reclaimable",
                                       "queueOverused", "jobEnqueueable", "jobEnqueued",
                                       "jobReady",      "allocateFunc",   "deallocateFunc"};

class Extender final : public Plugin {
 public:
  explicit Extender(const Arguments& arguments)
      : prefix_(arguments.text("extender.urlPrefix")),
        ignorable_(arguments.boolean("extender.ignorable", false)) {
    while (prefix_.ends_with('/')) prefix_.pop_back();
    timeout_ = std::chrono::duration_cast<std::chrono::milliseconds>(
        arguments.duration("extender.httpTimeout", std::chrono::seconds(1)));
    if (const json::Array* names = arguments.list("extender.managedResources"))
      for (const json::Value& name : *names)
        if (name.is_string()) managed_.emplace(json::sv(name.get_string()));
    for (std::string_view verb : kVerbs)
      if (std::string path = arguments.text("extender." + std::string(verb) + "Verb");
          !path.empty())
        paths_[verb] = path;
  }
  Hooks hooks() const override {
    Hooks hooks;
    auto answer = [&](std::string_view verb, Hook hook) {
      if (paths_.contains(verb)) hooks.set(index_of(hook));
    };
    answer("predicate", Hook::task_predicate);
    answer("prioritize", Hook::batch_node_order);
    answer("preemptable", Hook::preemptable);
    answer("reclaimable", Hook::reclaimable);
    answer("queueOverused", Hook::overused);
    answer("jobEnqueueable", Hook::job_enqueueable);
    answer("jobEnqueued", Hook::job_enqueued);
    answer("jobReady", Hook::job_ready);
    answer("allocateFunc", Hook::events);
    answer("deallocateFunc", Hook::events);
    return hooks;
  }

  void open(Session& session) override {
    session_ = &session;
    if (!paths_.contains("onSessionOpen")) return;
    json::Array nodes, queues, jobs;
    for (const Node& node : session.cluster().nodes())
      if (node.live) nodes.push_back(describe(node));
    for (const Queue& queue : session.cluster().queues())
      if (queue.live) queues.push_back(describe(queue));
    for (JobId job : session.jobs()) jobs.push_back(describe(session.at(job)));
    ask("onSessionOpen", json::Object{{"session", session.uid()},
                                      {"nodes", std::move(nodes)},
                                      {"queues", std::move(queues)},
                                      {"jobs", std::move(jobs)}});
  }
  void close(Session& session) override {
    if (paths_.contains("onSessionClose"))
      ask("onSessionClose", json::Object{{"session", session.uid()}});
  }

  bool concerns(TaskId id) const override {
    if (managed_.empty()) return true;
    const PodClass& pods = session_->cluster().class_of(session_->at(id));
    const Resources& request = pods.request;
    bool any = std::ranges::any_of(pods.unknown,
                                   [&](const auto& one) { return managed_.contains(one.first); });
    each_dim(request.present, [&](Dim d) {
      any |= request[d] > 0 && managed_.contains(session_->cluster().dimensions().name(d));
    });
    return any;
  }
  void filter_task(TaskId id, std::span<const NodeId> nodes, std::span<ReasonId> reasons) override {
    Result<json::Value> answer =
        ask("predicate", json::Object{{"task", describe(id)}, {"nodes", names_of(nodes, reasons)}});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (reasons[i] != kFeasible) continue;
      if (!answer) {
        if (!ignorable_)
          reasons[i] = session_->reasons().intern("extender: " + answer.error().message);
        continue;
      }
      std::string_view refusal =
          json::string_at(*answer, {"refused", session_->cluster().at(nodes[i]).name});
      if (refusal.empty()) continue;
      bool removable = json::bool_at(*answer, {"evictable"});
      reasons[i] = session_->reasons().intern(refusal, removable);
    }
  }
  void score_task(TaskId id, std::span<const NodeId> nodes, std::span<double> scores) override {
    std::vector<ReasonId> all(nodes.size(), kFeasible);
    Result<json::Value> answer =
        ask("prioritize", json::Object{{"task", describe(id)}, {"nodes", names_of(nodes, all)}});
    if (!answer) return;
    const json::Value* given = json::find(*answer, "scores");
    for (std::size_t i = 0; given != nullptr && i < nodes.size(); ++i)
      scores[i] += Arguments(*given).number(session_->cluster().at(nodes[i]).name, 0);
  }

  Victims preemptable(TaskId preemptor, std::span<const TaskId> candidates) override {
    return victims("preemptable", preemptor, candidates);
  }
  Victims reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) override {
    return victims("reclaimable", reclaimer, candidates);
  }

  bool overused(QueueId id) override {
    Result<json::Value> answer =
        ask("queueOverused", json::Object{{"queue", describe(session_->at(id))}});
    return answer ? json::bool_at(*answer, {"overused"}) : !ignorable_;
  }
  Vote job_enqueueable(JobId id) override {
    Result<json::Value> answer =
        ask("jobEnqueueable", json::Object{{"job", describe(session_->at(id))}});
    if (!answer) return ignorable_ ? Vote::abstain : Vote::reject;
    std::int64_t vote = json::int_at(*answer, {"vote"});
    return vote > 0 ? Vote::permit : vote < 0 ? Vote::reject : Vote::abstain;
  }
  void job_enqueued(JobId id) override {
    ask("jobEnqueued", json::Object{{"job", describe(session_->at(id))}});
  }
  bool job_ready(JobId id) override {
    Result<json::Value> answer = ask("jobReady", json::Object{{"job", describe(session_->at(id))}});
    return answer ? json::bool_at(*answer, {"ready"}) : ignorable_;
  }

  void on_allocate(TaskId id) override { tell("allocateFunc", id); }
  void on_release(TaskId id) override { tell("deallocateFunc", id); }

 private:
  // ---- calls

  Result<json::Value> ask(std::string_view verb, json::Object body) {
    Result<json::Value> answer = send(verb, std::move(body));
    if (!answer)
      log_warn("scheduler", "the extender gave no answer",
               {{"question", std::string(verb)}, {"error", answer.error().message}});
    return answer;
  }
  Result<json::Value> send(std::string_view verb, json::Object body) {
    kube::Http* http = session_->services().http;
    if (http == nullptr) return fail(Code::unavailable, "this scheduler makes no outgoing calls");
    kube::HttpCall call;
    call.method = "POST";
    call.url = prefix_ + "/" + paths_.find(verb)->second;
    call.body = json::serialize(json::Value(std::move(body)));
    call.timeout = timeout_;
    kube::HttpAnswer answer = TRY(http->fetch(std::move(call)));
    if (answer.status != 200)
      return fail(Code::unavailable, "the answer has status " + std::to_string(answer.status));
    json::Value value = TRY(json::parse(answer.body.empty() ? "{}" : answer.body));
    if (std::string_view error = json::string_at(value, {"error"}); !error.empty())
      return fail(Code::unavailable, std::string(error));
    return value;
  }
  void tell(std::string_view verb, TaskId id) {
    if (paths_.contains(verb) && concerns(id)) ask(verb, json::Object{{"task", describe(id)}});
  }

  Victims victims(std::string_view verb, TaskId evictor, std::span<const TaskId> candidates) {
    if (!concerns(evictor)) return {true, {}};
    json::Array list;
    for (TaskId id : candidates) list.push_back(describe(id));
    Result<json::Value> answer =
        ask(verb, json::Object{{"task", describe(evictor)}, {"candidates", std::move(list)}});
    if (!answer) return {ignorable_, {}};
    const json::Array* named = json::array_at(*answer, {"victims"});
    Victims out{named == nullptr, {}};
    for (TaskId id : candidates)
      for (std::size_t i = 0; named != nullptr && i < named->size(); ++i)
        if ((*named)[i].is_string() && json::sv((*named)[i].get_string()) == session_->at(id).uid)
          out.tasks.push_back(id);
    return out;
  }

  // ---- bodies

  json::Object amounts(const Resources& of) const {
    json::Object out;
    const Dimensions& dimensions = session_->cluster().dimensions();
    each_dim(of.present & ~(1u << kUnknown), [&](Dim d) {
      if (of[d] != 0) out[dimensions.name(d)] = dimensions.quantity(d, of[d]).text();
    });
    return out;
  }
  json::Object describe(TaskId id) const {
    const Task& task = session_->at(id);
    json::Object out{{"namespace", task.ns},
                     {"name", task.name},
                     {"uid", task.uid},
                     {"status", name_of(task.status)},
                     {"priority", task.priority},
                     {"requests", amounts(session_->cluster().class_of(task).request)}};
    if (task.node.valid()) out["node"] = session_->cluster().at(task.node).name;
    if (!task.job.valid()) return out;
    const Job& job = session_->at(task.job);
    out["group"] = job.name;
    out["role"] = session_->cluster().names().text(job.roles[task.role].name);
    out["queue"] = session_->at(job.queue).name;
    return out;
  }
  json::Object describe(const Job& job) const {
    return {{"namespace", job.ns},
            {"name", job.name},
            {"uid", job.uid},
            {"queue", session_->at(job.queue).name},
            {"phase", name_of(job.phase)},
            {"priority", job.priority},
            {"minMember", job.min_available},
            {"pods", job.tasks.size()},
            {"ready", job.ready()},
            {"minResources", amounts(job.min_resources)},
            {"allocated", amounts(job.allocated)}};
  }
  json::Object describe(const Queue& queue) const {
    return {{"name", queue.name},
            {"weight", queue.weight},
            {"priority", queue.priority},
            {"open", queue.open},
            {"capability", amounts(queue.capability)},
            {"deserved", amounts(queue.deserved)},
            {"guarantee", amounts(queue.guarantee)}};
  }
  json::Object describe(const Node& node) const {
    return {{"name", node.name},
            {"allocatable", amounts(node.shape.allocatable)},
            {"idle", amounts(node.idle)},
            {"used", amounts(node.used)},
            {"releasing", amounts(node.releasing)}};
  }
  json::Array names_of(std::span<const NodeId> nodes, std::span<const ReasonId> reasons) const {
    json::Array out;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (reasons[i] == kFeasible)
        out.push_back(json::Value(session_->cluster().at(nodes[i]).name));
    return out;
  }

  Session* session_ = nullptr;
  std::string prefix_;
  bool ignorable_;
  std::chrono::milliseconds timeout_{1000};
  std::set<std::string, std::less<>> managed_;
  std::map<std::string_view, std::string> paths_;  // by question
};

Result<void> check_extender(const PluginOption& option) {
  std::string prefix = option.arguments.text("extender.urlPrefix");
  if (!prefix.starts_with("http://") && !prefix.starts_with("https://"))
    return fail(Code::invalid,
                "extender.urlPrefix must be an http or https URL, not \"" + prefix + "\"");
  return {};
}

}  // namespace

extern const PluginInfo plugin_extender;
const PluginInfo plugin_extender{
    "extender", "asks a service of the user's",
    "extender.urlPrefix, extender.httpTimeout (1s), extender.ignorable (false), "
    "extender.managedResources (none), extender.<question>Verb (none)",
    [](const PluginOption& option) -> std::unique_ptr<Plugin> {
      return std::make_unique<Extender>(option.arguments);
    },
    check_extender};

}  // namespace hekla::scheduler
