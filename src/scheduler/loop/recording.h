// The scheduler's input as lines of JSON, in the order in which it was taken in, with the moments
// at which sessions ran and what they bound. simulate/replay.h runs the sessions again from it. The
// format stands in docs/formats/scheduler-record.md.
#pragma once

#include <functional>
#include <string>

#include "json/codec.h"
#include "json/parse.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/session/decisions.h"

namespace hekla::scheduler {

class Recording {
 public:
  using Sink = std::function<void(const std::string& line)>;
  Recording(Sink sink, const ClusterOptions& options);

  bool on() const { return sink_ != nullptr; }
  template <class T>
  void put(const std::string& kind, const T& object) {
    if (sink_) write(json::Object{{"put", kind}, {"object", json::encode(object)}});
  }
  template <class T>
  void gone(const std::string& kind, const T& object) {
    if (!sink_) return;
    json::Object meta{{"namespace", object.metadata.ns},
                      {"name", object.metadata.name},
                      {"uid", object.metadata.uid}};
    write(json::Object{{"gone", kind}, {"object", json::Object{{"metadata", std::move(meta)}}}});
  }
  void configuration(std::string_view text);
  void session(const std::string& uid, WallTime now, const Cluster& cluster,
               const Decisions& decisions);
  // The API's answer to a binding, and to a write of a group's status.
  void bound(const Task& task, bool accepted);
  void status_written(const Job& job, bool accepted);

 private:
  void write(json::Object line);
  Sink sink_;
};

// What a session decided about pods, as it stands in a record: [pod, node] pairs and pods.
json::Array recorded_binds(const Cluster& cluster, const Decisions& decisions);
json::Array recorded_evictions(const Cluster& cluster, const Decisions& decisions);

}  // namespace hekla::scheduler
