#include "cli/jobs/follow.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/loop.h"
#include "cli/cluster.h"
#include "cli/jobs/why_waiting.h"
#include "cli/live/terminal.h"
#include "json/parse.h"
#include "kube/informer.h"

namespace hekla::cli {
namespace {

// A job, a pod or an event: one type for all three, for each more would cost seconds to compile.
struct Followed {
  model::ObjectMeta metadata;
  json::Value spec, status, involvedObject;
  std::string type, reason, message;

  std::string_view phase() const { return json::string_at(status, {"phase"}); }  // of a pod
};
BOOST_DESCRIBE_STRUCT(Followed, (), (metadata, spec, status, involvedObject, type, reason, message))
using FollowedPtr = std::shared_ptr<const Followed>;
using Outcome = Result<std::vector<JobState>>;

// The lines of `hekla run` and `hekla logs -f`.
class PlainView final : public FollowView {
 public:
  void job_changed(const JobRef& job, const JobState& state) override {
    const bool has_news = state.ended && !state.succeeded && !state.message.empty();
    say(std::string(job.kind->title) + " " + job.key.name + ": " + state.word +
        (has_news ? ": " + state.message : ""));
  }
  void pod_changed(const PodNews& pod) override {
    if (pod.new_phase && !pod.gone) say("pod " + pod.metadata.name + ": " + std::string(pod.phase));
  }
  void warned(const Warning& warning) override {
    if (warning.of_job)
      say(warning.kind + " " + warning.name + ": " + warning.reason + ": " + warning.message);
  }
  void log_line(const std::string& pod, const std::string& line) override {
    say(paint_.by_name(pod, pod) + " | " + line);
  }
  void explained(const JobRef& job, const std::string& text) override {
    say(title_of(job) + " waits:\n" + text);
  }

 private:
  static void say(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  const Paint paint_ = Paint::of(stdout);
};

// One call at a time, whichever thread it comes from.
class OneAtATime final : public FollowView {
 public:
  explicit OneAtATime(FollowView& view) : view_(view) {}
  void job_changed(const JobRef& job, const JobState& state) override {
    std::lock_guard lock(mutex_);
    view_.job_changed(job, state);
  }
  void pod_changed(const PodNews& pod) override {
    std::lock_guard lock(mutex_);
    view_.pod_changed(pod);
  }
  void warned(const Warning& warning) override {
    std::lock_guard lock(mutex_);
    view_.warned(warning);
  }
  void log_line(const std::string& pod, const std::string& line) override {
    std::lock_guard lock(mutex_);
    view_.log_line(pod, line);
  }
  void explained(const JobRef& job, const std::string& text) override {
    std::lock_guard lock(mutex_);
    view_.explained(job, text);
  }
  void tick() override {
    std::lock_guard lock(mutex_);
    view_.tick();
  }

 private:
  std::mutex mutex_;
  FollowView& view_;
};

// Tells whole lines of one pod's log as they arrive.
class LogLines {
 public:
  LogLines(net::Client& http, const std::string& url, std::string pod, FollowView& view)
      : pod_(std::move(pod)), view_(view) {
    net::ClientRequest request;
    request.url = url;
    request.timeout = std::chrono::milliseconds(0);
    net::StreamCallbacks callbacks;
    callbacks.on_head = [this](int status, const net::Headers&) { ok_ = status == 200; };
    callbacks.on_data = [this](std::string_view data) { take(data); };
    callbacks.on_end = [this](const Result<void>&) {
      if (ok_ && !partial_.empty()) view_.log_line(pod_, partial_);
      ended_.set_value();
    };
    stream_ = http.stream(std::move(request), std::move(callbacks));
  }
  // The log of a finished pod is at its end soon; what is missing is waited for.
  void wait_for_end() { ended_.get_future().wait_for(std::chrono::seconds(5)); }

 private:
  void take(std::string_view data) {
    if (!ok_) return;
    partial_ += data;
    std::size_t end;
    while ((end = partial_.find('\n')) != std::string::npos) {
      view_.log_line(pod_, partial_.substr(0, end));
      partial_.erase(0, end + 1);
    }
  }

  std::string pod_, partial_;
  FollowView& view_;
  bool ok_ = false;
  std::promise<void> ended_;
  std::unique_ptr<net::StreamHandle> stream_;
};

constexpr std::chrono::milliseconds kTick{120};

// While the loop runs.
void tick_on(Loop& loop, FollowView& view) {
  loop.post_after(kTick, [&] {
    view.tick();
    tick_on(loop, view);
  });
}

class Follower {
 public:
  Follower(ApiSession& session, kube::Client& client, const std::vector<JobRef>& jobs,
           const FollowOptions& options, FollowView& view)
      : session_(session),
        wanted_(jobs),
        logs_wanted_(options.logs),
        view_(view),
        pods_(client, kube::resources::pods),
        events_(client, kube::resources::events) {
    for (const JobRef& job : jobs)
      if (!jobs_.contains(job.kind))
        jobs_.emplace(job.kind,
                      std::make_unique<kube::Informer<Followed>>(client, *job.kind->resource));
  }

  std::future<Outcome> outcome() { return outcome_.get_future(); }

  void start() {
    for (auto& [kind, informer] : jobs_) {
      informer->on_change([this, kind](const auto& before, const auto& after) {
        job_changed(*kind, before, after);
      });
      informer->on_settled([this] { check_end(); });
      informer->start();
    }
    pods_.on_change([this](const auto& before, const auto& after) { pod_changed(before, after); });
    events_.on_change(
        [this](const auto& before, const auto& after) { event_changed(before, after); });
    pods_.start();
    events_.start();
  }
  void give_up() { finish(fail(Code::timeout, "interrupted")); }
  std::map<std::string, std::unique_ptr<LogLines>>& logs() { return logs_; }

 private:
  const JobRef* wanted(std::string_view uid) const {
    auto found = std::ranges::find_if(wanted_, [&](const JobRef& job) { return job.uid == uid; });
    return found == wanted_.end() ? nullptr : &*found;
  }

  static Outcome deleted(const JobRef& job) {
    return fail(Code::not_found,
                std::string(job.kind->title) + " " + job.key.name + " was deleted");
  }

  void job_changed(const JobKind& kind, const FollowedPtr& before, const FollowedPtr& after) {
    const JobRef* job = wanted((after ? after : before)->metadata.uid);
    if (!job) return;
    if (!after) return finish(deleted(*job));
    const JobState state = kind.state(after->status);
    if (state.word.empty() || (before && kind.state(before->status).word == state.word)) return;
    view_.job_changed(*job, state);
  }

  void check_end() {
    std::vector<JobState> states;
    for (const JobRef& job : wanted_) {
      kube::Informer<Followed>& informer = *jobs_.at(job.kind);
      if (!informer.synced()) return;
      auto object = informer.get(job.key);
      if (!object || object->metadata.uid != job.uid) return finish(deleted(job));
      states.push_back(job.kind->state(object->status));
      if (!states.back().ended) return;
    }
    finish(std::move(states));
  }

  void pod_changed(const FollowedPtr& before, const FollowedPtr& after) {
    const Followed& pod = after ? *after : *before;
    if (std::ranges::none_of(wanted_,
                             [&](const JobRef& job) { return is_pod_of(job, pod.metadata); }))
      return;
    own_.insert(pod.metadata.uid);
    const std::string_view phase = pod.phase();
    view_.pod_changed({.metadata = pod.metadata,
                       .status = pod.status,
                       .gone = !after,
                       .phase = phase,
                       .new_phase = !before || !after || before->phase() != phase});
    const bool has_log = phase == "Running" || phase == "Succeeded" || phase == "Failed";
    if (!logs_wanted_ || !after || !has_log || logs_.contains(pod.metadata.uid)) return;
    std::string url =
        session_.access().server +
        ApiSession::path_of(kube::resources::pods, pod.metadata.ns, pod.metadata.name) +
        "/log?follow=true";
    if (const json::Array* containers = json::array_at(pod.spec, {"containers"});
        containers && containers->size() > 1)
      url += "&container=" + std::string(json::string_at(containers->front(), {"name"}));
    logs_[pod.metadata.uid] =
        std::make_unique<LogLines>(session_.http(), url, pod.metadata.name, view_);
  }

  void event_changed(const FollowedPtr& before, const FollowedPtr& after) {
    if (before || !after || after->type != "Warning") return;
    const json::Value& about = after->involvedObject;
    Warning warning{lowered(json::string_at(about, {"kind"})),
                    std::string(json::string_at(about, {"name"})), false, after->reason,
                    after->message};
    const std::string uid(json::string_at(about, {"uid"}));
    warning.of_job = wanted(uid) != nullptr;
    // A training job's group bears its name.
    const bool of_group =
        warning.kind == "podgroup" && std::ranges::any_of(wanted_, [&](const JobRef& job) {
          return job.key.name == warning.name && job.key.ns == after->metadata.ns;
        });
    if (warning.of_job || of_group || own_.contains(uid)) view_.warned(warning);
  }

  void finish(Outcome result) {
    if (finished_) return;
    finished_ = true;
    outcome_.set_value(std::move(result));
  }

  ApiSession& session_;
  const std::vector<JobRef> wanted_;
  const bool logs_wanted_;
  FollowView& view_;
  bool finished_ = false;
  std::promise<Outcome> outcome_;
  std::set<std::string> own_;  // uids of the jobs' pods
  std::map<std::string, std::unique_ptr<LogLines>> logs_;
  std::map<const JobKind*, std::unique_ptr<kube::Informer<Followed>>> jobs_;
  kube::Informer<Followed> pods_, events_;
};

}  // namespace

Result<std::vector<JobState>> follow_jobs(ApiSession& session, const std::vector<JobRef>& jobs,
                                          const FollowOptions& options, std::stop_token stop) {
  PlainView plain;
  OneAtATime view(options.view ? *options.view : plain);
  Loop loop("follow");
  std::unique_ptr<kube::Client> client =
      TRY(kube::make_rest_client(session.access(), loop, kube::Identity{"hekla"}));
  Follower follower(session, *client, jobs, options, view);
  std::future<Outcome> outcome = follower.outcome();
  loop.post([&follower] { follower.start(); });
  tick_on(loop, view);
  std::optional<WhyWaiting> why;
  if (options.explain)
    why.emplace(session.access(), jobs,
                [&view](const JobRef& job, const std::string& text) { view.explained(job, text); });
  std::stop_callback interrupt(
      std::move(stop), [&loop, &follower] { loop.post([&follower] { follower.give_up(); }); });
  Outcome result = fail(Code::timeout, "the job has not ended within " +
                                           std::to_string(options.timeout.count()) + " s");
  if (options.timeout.count() == 0 ||
      outcome.wait_for(options.timeout) == std::future_status::ready)
    result = outcome.get();
  why.reset();
  loop.stop();
  if (result)
    for (auto& [uid, lines] : follower.logs()) lines->wait_for_end();
  return result;
}

}  // namespace hekla::cli
