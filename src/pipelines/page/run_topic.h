// The stream's topic "runs": tells open pages what has changed, and nothing else; they ask the REST
// API for what they show. An item is {"uid": "runs/ID"} or the name of a list, "experiments".
// Parameter `run`: only that run's changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "kube/stream_topic.h"

namespace hekla::pipelines::page {

// Thread-safe.
class RunTopic {
 public:
  // `executor` gathers what changes at about the same time.
  explicit RunTopic(Executor& executor);
  // Ids of runs; and names of lists.
  void runs_changed(const std::vector<std::string>& ids);
  void list_changed(const std::string& name);
  kube::StreamTopic topic() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::page
