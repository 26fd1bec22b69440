// Ended pods of steps, which nobody else removes: the newest stay for kubectl, the others go when
// their log is kept.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/done.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/pod_streams.h"
#include "model/core.h"

namespace hekla::pipelines::driver {

using KeepLog =
    std::function<void(const std::string& run, const kube::PodRef& pod, Done<void> done)>;

inline constexpr std::size_t kKeptPods = 50;  // of a namespace

// Lives on the client's executor.
class OldPods {
 public:
  // `is_open` tells runs that are not over: their pods are looked at.
  OldPods(kube::Client& client, const kube::Informer<model::Pod>& pods, KeepLog keep,
          std::function<bool(const std::string& run)> is_open);
  // After the end of a run, and at the start. One look at a time.
  void look();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::driver
