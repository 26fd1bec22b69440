// kube::Client within the process: reads are snapshots, a batch is one commit, watches are cursors.
// Objects share the store's bytes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "apiserver/object/registry.h"
#include "apiserver/write/writes.h"
#include "kube/client.h"
#include "kube/pod_streams.h"
#include "store/store.h"

namespace hekla::apiserver {

class LocalClient final : public kube::Client {
 public:
  // `streams` holds whoever measures pods, once there is somebody.
  LocalClient(store::Store& store, Registry& registry, Writes& writes,
              const std::atomic<kube::PodStreams*>& streams, Executor& executor,
              kube::Identity identity);
  // Completions that are still out are dropped.
  ~LocalClient() override;

  Executor& executor() override { return executor_; }
  void get(const kube::Resource& resource, const kube::Key& key,
           std::move_only_function<void(Result<kube::ObjectPtr>)> done) override;
  void list(const kube::Resource& resource, const kube::ListOptions& options,
            std::move_only_function<void(Result<kube::List>)> done) override;
  std::unique_ptr<kube::Watch> watch(const kube::Resource& resource,
                                     const kube::WatchOptions& options,
                                     kube::WatchCallbacks callbacks) override;
  void batch(std::vector<kube::Write> writes, kube::BatchDone done) override;

 private:
  Result<WriteRequest> request_of(ServedPtr served, kube::Write write) const;
  void deliver(Task task);
  void list_metrics(const kube::Resource& resource, const kube::ListOptions& options,
                    std::move_only_function<void(Result<kube::List>)> done);

  store::Store& store_;
  Registry& registry_;
  Writes& writes_;
  const std::atomic<kube::PodStreams*>& streams_;
  Executor& executor_;
  kube::Identity identity_;
  std::shared_ptr<bool> alive_;
};

}  // namespace hekla::apiserver
