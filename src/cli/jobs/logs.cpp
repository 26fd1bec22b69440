// hekla logs: of a pod, or of every pod a job has or had.
#include <poll.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "cli/jobs/follow.h"
#include "cli/live/progress.h"
#include "cli/live/terminal.h"
#include "cli/objects.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

const kube::Resource kPodLogs{"logs.hekla.io", "v1alpha1", "podlogs", "PodLog"};

// A pod, here or gone.
struct LoggedPod {
  std::string name, uid;
  std::vector<std::string> containers;
};

std::string log_path(const LogOptions& options, const std::string& ns, const std::string& pod,
                     const std::string& container, const std::string& uid) {
  std::string path = ApiSession::path_of(kube::resources::pods, ns, pod) + "/log?";
  if (!container.empty()) path += "container=" + net::url_encode(container) + "&";
  if (!uid.empty()) path += "podUID=" + net::url_encode(uid) + "&";
  if (options.follow) path += "follow=true&";
  if (options.tail >= 0) path += "tailLines=" + std::to_string(options.tail) + "&";
  if (options.previous) path += "previous=true&";
  if (options.timestamps) path += "timestamps=true&";
  if (options.since_seconds > 0) path += "sinceSeconds=" + std::to_string(options.since_seconds);
  return path;
}

Result<void> print_pod_log(ApiSession& session, const LogOptions& options, const std::string& ns,
                           const std::string& pod) {
  return session.stream(log_path(options, ns, pod, options.container, ""), "*/*",
                        [](std::string_view piece) {
                          std::fwrite(piece.data(), 1, piece.size(), stdout);
                          std::fflush(stdout);
                        });
}

LoggedPod logged_pod(const json::Value& object) {
  LoggedPod pod{std::string(json::string_at(object, {"metadata", "name"})),
                std::string(json::string_at(object, {"metadata", "uid"})),
                {}};
  if (const json::Array* kept = json::array_at(object, {"containers"}))
    for (const json::Value& name : *kept) pod.containers.emplace_back(name.as_string());
  if (const json::Array* live = json::array_at(object, {"spec", "containers"}))
    for (const json::Value& container : *live)
      pod.containers.emplace_back(json::string_at(container, {"name"}));
  return pod;
}

// The job's pods that the list holds. A server that has no such list has none.
Result<std::vector<LoggedPod>> pods_in(ApiSession& session, const kube::Resource& resource,
                                       const JobRef& job) {
  std::vector<LoggedPod> found;
  Result<json::Value> list = session.call("GET", ApiSession::path_of(resource, job.key.ns));
  if (!list && list.error().code == Code::not_found) return found;
  if (!list) return std::unexpected(list.error());
  if (const json::Array* items = json::array_at(*list, {"items"}))
    for (const json::Value& item : *items)
      if (is_pod_of(job, TRY(json::decode<model::ObjectMeta>(*json::find(item, "metadata")))))
        found.push_back(logged_pod(item));
  return found;
}

Result<void> print_prefixed(ApiSession& session, const std::string& path,
                            const std::string& prefix) {
  std::string line;
  const std::string shown = Paint::of(stdout).by_name(prefix, prefix);
  auto print = [&] {
    std::printf("%s | %s\n", shown.c_str(), line.c_str());
    line.clear();
  };
  Result<void> done = session.stream(path, "*/*", [&](std::string_view piece) {
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos;
         piece.remove_prefix(end + 1)) {
      line += piece.substr(0, end);
      print();
    }
    line += piece;
  });
  if (!line.empty()) print();
  return done;
}

void print_job_pod(ApiSession& session, const LogOptions& options, const std::string& ns,
                   const LoggedPod& pod) {
  for (const std::string& container : pod.containers) {
    if (!options.container.empty() && options.container != container) continue;
    const std::string prefix = pod.containers.size() > 1 ? pod.name + "/" + container : pod.name;
    // A pod that has not begun, or that goes while we read, does not keep the others from view.
    Result<void> done =
        print_prefixed(session, log_path(options, ns, pod.name, container, pod.uid), prefix);
    if (!done) complain(prefix + ": " + done.error().message);
  }
}

Result<void> print_job_logs(ApiSession& session, LogOptions options, const JobRef& job) {
  const bool follow = std::exchange(options.follow, false);
  std::vector<LoggedPod> kept = TRY(pods_in(session, kPodLogs, job));
  for (const LoggedPod& pod : kept) print_job_pod(session, options, job.key.ns, pod);
  const std::string path = ApiSession::path_of(*job.kind->resource, job.key.ns, job.key.name);
  // Of a job that has ended there is nothing to follow, and its pods' logs are whole.
  if (follow && !state_of(*job.kind, TRY(session.call("GET", path))).ended) {
    TRY(follow_jobs(session, {job}, {.explain = true}));
    return {};
  }
  std::vector<LoggedPod> live = TRY(pods_in(session, kube::resources::pods, job));
  for (const LoggedPod& pod : live) print_job_pod(session, options, job.key.ns, pod);
  if (kept.empty() && live.empty())
    return fail(Code::not_found, std::string(job.kind->title) + " \"" + job.key.name +
                                     "\" has no pod and no pod's log");
  return {};
}

}  // namespace

Result<void> print_logs(ApiSession& session, const LogOptions& options) {
  const std::string ns = options.ns.empty() ? session.access().default_namespace : options.ns;
  const std::size_t slash = options.what.find('/');
  const std::string name = options.what.substr(slash == std::string::npos ? 0 : slash + 1);
  if (slash == std::string::npos) {
    if (std::optional<JobRef> job = TRY(find_job(session, ns, name)))
      return print_job_logs(session, options, *job);
    Result<void> printed = print_pod_log(session, options, ns, name);
    if (printed || printed.error().code != Code::not_found) return printed;
    return fail(Code::not_found, "there is no job and no pod \"" + name + "\" in namespace " + ns);
  }
  const std::string type = options.what.substr(0, slash);
  kube::Resource resource = TRY(find_resource(session, type));
  if (resource == kube::resources::pods) return print_pod_log(session, options, ns, name);
  const JobKind* kind = job_kind(resource);
  if (!kind)
    return fail(Code::bad_request,
                "\"" + type + "\" is no kind of job: hekla logs prints the logs of pods and jobs");
  json::Value job = TRY(session.call("GET", ApiSession::path_of(*kind->resource, ns, name)));
  return print_job_logs(session, options, job_ref(*kind, job));
}

namespace {

Result<JobRef> named_job(ApiSession& session, const std::string& ns, const std::string& type,
                         const std::string& name) {
  if (type.empty()) {
    if (std::optional<JobRef> job = TRY(find_job(session, ns, name))) return *job;
    return fail(Code::not_found, "there is no job \"" + name + "\" in namespace " + ns);
  }
  const kube::Resource resource = TRY(find_resource(session, type));
  const JobKind* kind = job_kind(resource);
  if (!kind)
    return fail(Code::bad_request, "\"" + type +
                                       "\" is no kind of job: say what to wait for with "
                                       "--for");
  return job_ref(*kind, TRY(session.call("GET", ApiSession::path_of(*kind->resource, ns, name))));
}

}  // namespace

Result<void> wait_for_jobs(ApiSession& session, const GetOptions& options,
                           std::chrono::seconds timeout) {
  const std::string ns = options.ns.empty() ? session.access().default_namespace : options.ns;
  const MonoTime deadline = real_clock().mono() + timeout;
  std::string failed;
  for (const std::string& what : options.what) {
    const std::size_t slash = what.find('/');
    const std::string type = slash == std::string::npos ? "" : what.substr(0, slash);
    const std::string name = slash == std::string::npos ? what : what.substr(slash + 1);
    const JobRef job = TRY(named_job(session, ns, type, name));
    const std::string path = ApiSession::path_of(*job.kind->resource, job.key.ns, job.key.name);
    JobState state = state_of(*job.kind, TRY(session.call("GET", path)));
    const Progress progress(options.quiet, "waiting for " + title_of(job) + " to end");
    while (!state.ended) {
      if (real_clock().mono() > deadline)
        return fail(Code::timeout, title_of(job) + " has not ended in time: it is " + state.word +
                                       "; hekla explain says why a job waits");
      ::poll(nullptr, 0, 200);
      state = state_of(*job.kind, TRY(session.call("GET", path)));
    }
    std::printf("%s ended as %s\n", title_of(job).c_str(), state.word.c_str());
    std::fflush(stdout);
    if (!state.succeeded) failed += (failed.empty() ? "" : ", ") + title_of(job);
  }
  if (failed.empty()) return {};
  return fail(Code::internal, "not completed: " + failed + " (hekla logs NAME shows why)");
}

}  // namespace hekla::cli
