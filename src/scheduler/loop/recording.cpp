#include "scheduler/loop/recording.h"

namespace hekla::scheduler {

namespace {

json::Array strings(const std::vector<std::string>& list) {
  json::Array out;
  for (const std::string& one : list) out.push_back(json::Value(one));
  return out;
}

}  // namespace

Recording::Recording(Sink sink, const ClusterOptions& options) : sink_(std::move(sink)) {
  if (!sink_) return;
  write(json::Object{{"record", "hekla scheduler"},
                     {"version", 1},
                     {"schedulerNames", strings(options.scheduler_names)},
                     {"singlePodSchedulers", strings(options.single_pod_schedulers)},
                     {"defaultQueue", options.default_queue}});
}

void Recording::write(json::Object line) { sink_(json::serialize(json::Value(std::move(line)))); }

void Recording::configuration(std::string_view text) {
  if (sink_) write(json::Object{{"configuration", text}});
}

json::Array recorded_binds(const Cluster& cluster, const Decisions& decisions) {
  json::Array binds;
  for (const BindDecision& bind : decisions.binds) {
    const Task& task = cluster.at(bind.task);
    binds.push_back(json::Array{json::Value(task.ns + "/" + task.name),
                                json::Value(cluster.at(bind.node).name)});
  }
  return binds;
}

json::Array recorded_evictions(const Cluster& cluster, const Decisions& decisions) {
  json::Array evictions;
  for (const EvictDecision& evict : decisions.evictions) {
    const Task& task = cluster.at(evict.task);
    evictions.push_back(json::Value(task.ns + "/" + task.name));
  }
  return evictions;
}

void Recording::session(const std::string& uid, WallTime now, const Cluster& cluster,
                        const Decisions& decisions) {
  if (!sink_) return;
  json::Object line{{"session", uid}, {"wall", now.time_since_epoch().count()}};
  line["binds"] = recorded_binds(cluster, decisions);
  if (!decisions.evictions.empty()) line["evictions"] = recorded_evictions(cluster, decisions);
  write(std::move(line));
}

void Recording::bound(const Task& task, bool accepted) {
  if (sink_)
    write(json::Object{{"bound", task.ns + "/" + task.name}, {"uid", task.uid}, {"ok", accepted}});
}

void Recording::status_written(const Job& job, bool accepted) {
  if (sink_)
    write(json::Object{{"status", job.ns + "/" + job.name}, {"uid", job.uid}, {"ok", accepted}});
}

}  // namespace hekla::scheduler
