#include "cli/follow.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <set>

#include "base/loop.h"
#include "json/parse.h"
#include "kube/informer.h"
#include "model/meta.h"

namespace hekla::cli {
namespace {

// A job, a pod or an event: one type for all three, for each more would cost seconds to compile.
struct Followed {
  model::ObjectMeta metadata;
  json::Value spec, status, involvedObject;
  std::string type, reason, message;

  std::string phase() const {  // of a pod
    return std::string(json::string_at(status, {"phase"}));
  }
  std::string job_phase() const { return std::string(json::string_at(status, {"state", "phase"})); }
};
BOOST_DESCRIBE_STRUCT(Followed, (), (metadata, spec, status, involvedObject, type, reason, message))
using FollowedPtr = std::shared_ptr<const Followed>;

// Prints whole lines of one pod's log as they arrive.
class LogLines {
 public:
  LogLines(net::Client& http, const std::string& url, std::string pod) : pod_(std::move(pod)) {
    net::ClientRequest request;
    request.url = url;
    request.timeout = std::chrono::milliseconds(0);
    net::StreamCallbacks callbacks;
    callbacks.on_head = [this](int status, const net::Headers&) { ok_ = status == 200; };
    callbacks.on_data = [this](std::string_view data) { take(data); };
    callbacks.on_end = [this](const Result<void>&) {
      if (ok_ && !partial_.empty()) print(partial_);
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
      print(partial_.substr(0, end));
      partial_.erase(0, end + 1);
    }
  }
  void print(const std::string& line) const {
    std::printf("%s | %s\n", pod_.c_str(), line.c_str());
    std::fflush(stdout);
  }

  std::string pod_, partial_;
  bool ok_ = false;
  std::promise<void> ended_;
  std::unique_ptr<net::StreamHandle> stream_;
};

class Follower {
 public:
  Follower(ApiSession& session, kube::Client& client, const std::vector<FollowedJob>& jobs,
           const FollowOptions& options)
      : session_(session),
        jobs_wanted_(jobs),
        options_(options),
        jobs_(client, kube::resources::vcjobs),
        pods_(client, kube::resources::pods),
        events_(client, kube::resources::events) {}

  std::future<Result<std::vector<std::string>>> outcome() { return outcome_.get_future(); }

  void start() {
    jobs_.on_change([this](const auto& before, const auto& after) { job_changed(before, after); });
    jobs_.on_settled([this] { check_end(); });
    pods_.on_change([this](const auto& before, const auto& after) { pod_changed(before, after); });
    events_.on_change(
        [this](const auto& before, const auto& after) { event_changed(before, after); });
    jobs_.start();
    pods_.start();
    events_.start();
  }
  void give_up() { finish(fail(Code::timeout, "interrupted")); }
  std::map<std::string, std::unique_ptr<LogLines>>& logs() { return logs_; }

 private:
  bool is_wanted(std::string_view uid) const {
    return std::ranges::any_of(jobs_wanted_,
                               [&](const FollowedJob& job) { return job.uid == uid; });
  }
  bool is_of_wanted(const model::ObjectMeta& metadata) const {
    return std::ranges::any_of(metadata.ownerReferences,
                               [this](const auto& owner) { return is_wanted(owner.uid); });
  }

  void say(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }

  void job_changed(const FollowedPtr& before, const FollowedPtr& after) {
    const auto& any = after ? after : before;
    if (!is_wanted(any->metadata.uid)) return;
    if (!after) return finish(fail(Code::not_found, "job " + any->metadata.name + " was deleted"));
    const std::string phase = after->job_phase();
    if (phase.empty() || (before && before->job_phase() == phase)) return;
    say("job " + after->metadata.name + ": " + phase);
  }

  void check_end() {
    std::vector<std::string> phases;
    for (const FollowedJob& wanted : jobs_wanted_) {
      auto job = jobs_.get(wanted.key);
      if (!job || job->metadata.uid != wanted.uid)
        return finish(fail(Code::not_found, "job " + wanted.key.name + " was deleted"));
      phases.push_back(job->job_phase());
      if (!is_final(phases.back())) return;
    }
    finish(std::move(phases));
  }

  void pod_changed(const FollowedPtr& before, const FollowedPtr& after) {
    if (!after || !is_of_wanted(after->metadata)) return;
    const std::string phase = after->phase();
    if (before && before->phase() == phase) return;
    say("pod " + after->metadata.name + ": " + phase);
    bool has_log = phase == "Running" || phase == "Succeeded" || phase == "Failed";
    if (!options_.logs || !has_log || logs_.contains(after->metadata.uid)) return;
    std::string url =
        session_.access().server +
        ApiSession::path_of(kube::resources::pods, after->metadata.ns, after->metadata.name) +
        "/log?follow=true";
    if (const json::Array* containers = json::array_at(after->spec, {"containers"});
        containers && containers->size() > 1)
      url += "&container=" + std::string(json::string_at(containers->front(), {"name"}));
    logs_[after->metadata.uid] =
        std::make_unique<LogLines>(session_.http(), url, after->metadata.name);
  }

  void event_changed(const FollowedPtr& before, const FollowedPtr& after) {
    if (before || !after || after->type != "Warning") return;
    if (!is_wanted(json::string_at(after->involvedObject, {"uid"}))) return;
    const std::string name(json::string_at(after->involvedObject, {"name"}));
    say("job " + name + ": " + after->reason + ": " + after->message);
  }

  void finish(Result<std::vector<std::string>> result) {
    if (finished_) return;
    finished_ = true;
    outcome_.set_value(std::move(result));
  }

  ApiSession& session_;
  std::vector<FollowedJob> jobs_wanted_;
  FollowOptions options_;
  bool finished_ = false;
  std::promise<Result<std::vector<std::string>>> outcome_;
  std::map<std::string, std::unique_ptr<LogLines>> logs_;
  kube::Informer<Followed> jobs_, pods_, events_;
};

}  // namespace

bool is_final(std::string_view phase) {
  return phase == "Completed" || phase == "Failed" || phase == "Terminated" || phase == "Aborted";
}

Result<std::vector<std::string>> follow_jobs(ApiSession& session,
                                             const std::vector<FollowedJob>& jobs,
                                             const FollowOptions& options, std::stop_token stop) {
  Loop loop("follow");
  std::unique_ptr<kube::Client> client =
      TRY(kube::make_rest_client(session.access(), loop, kube::Identity{"hekla"}));
  Follower follower(session, *client, jobs, options);
  std::future<Result<std::vector<std::string>>> outcome = follower.outcome();
  loop.post([&follower] { follower.start(); });
  std::stop_callback interrupt(
      std::move(stop), [&loop, &follower] { loop.post([&follower] { follower.give_up(); }); });
  Result<std::vector<std::string>> result =
      fail(Code::timeout,
           "the job has not ended within " + std::to_string(options.timeout.count()) + " s");
  if (options.timeout.count() == 0 ||
      outcome.wait_for(options.timeout) == std::future_status::ready)
    result = outcome.get();
  loop.stop();
  if (result)
    for (auto& [uid, lines] : follower.logs()) lines->wait_for_end();
  return result;
}

}  // namespace hekla::cli
