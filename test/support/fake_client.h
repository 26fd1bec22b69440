// A Kubernetes API in memory for tests of controllers: stores objects, numbers revisions, tells
// watchers. Not a server: no validation, no defaulting, no admission.
//
//   sim::Simulation simulation(1);
//   FakeApi api;
//   FakeClient client(api, simulation.add("controllers"));
//   api.create(kube::resources::queues, {...});
//   simulation.run_until_idle();
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"

namespace hekla::test {

class FakeApi {
 public:
  explicit FakeApi(const Clock& clock) : clock_(clock) {}

  // As a user would. Objects get a uid ("u-<name>" for vcjobs, else "u-<plural>-<name>"), a
  // revision, a generation and a creation time.
  kube::WriteResult write(const kube::Write& write);
  kube::WriteResult create(const kube::Resource& resource, json::Value object);
  kube::WriteResult patch(const kube::Resource& resource, const kube::Key& key, json::Value merge,
                          const std::string& subresource = {});
  kube::WriteResult remove(const kube::Resource& resource, const kube::Key& key);
  // A terminating pod's containers have ended: the object goes.
  void finish_termination(const kube::Key& pod);

  const json::Value* find(const kube::Resource& resource, const kube::Key& key) const;
  std::vector<const json::Value*> list(const kube::Resource& resource,
                                       const std::string& ns = {}) const;
  // Every write clients have made, in order.
  const std::vector<kube::Write>& log() const { return log_; }
  void clear_log() { log_.clear(); }

  // Asked before each write of a client; an error makes it fail.
  std::function<std::optional<Error>(const kube::Write&)> on_write;

  // Plurals the server does not know: lists of them are not found.
  std::set<std::string> unserved;

  // What an owner leaves behind goes with it. Off for tests of the collector itself: then removals
  // honour finalizers and propagation policies as well.
  bool collects_garbage = true;

 private:
  friend class FakeClient;
  struct Stored {
    json::Value value;
    std::uint64_t revision = 0;
  };
  struct Watcher {
    kube::Resource resource;
    kube::WatchOptions options;
    kube::WatchCallbacks callbacks;
    Executor* executor;
    bool ended = false;
  };
  struct Removal {
    std::string table;
    kube::ObjectPtr object;
    std::uint64_t revision;
  };
  using Table = std::map<kube::Key, Stored>;
  static std::string table_name(const kube::Resource& resource);
  static kube::ObjectPtr snapshot(const kube::Resource& resource, const Stored& stored);
  kube::WriteResult store(const kube::Resource& resource, json::Value value,
                          kube::WatchEvent::Type type);
  kube::WriteResult create_object(const kube::Write& write);
  kube::WriteResult patch_object(const kube::Write& write);
  kube::WriteResult remove_object(const kube::Write& write);
  void take_back(const kube::Write& write, json::Value& object);
  kube::WriteResult hold(const kube::Write& write, json::Value object);
  kube::ObjectPtr erase(const kube::Resource& resource, const kube::Key& key);
  void remove_dependents(const std::string& owner_uid);
  void tell(const kube::Resource& resource, kube::WatchEvent event);

  const Clock& clock_;
  std::uint64_t revision_ = 100;
  std::map<std::string, int> uids_;
  std::map<std::string, std::pair<kube::Resource, Table>> tables_;
  std::list<std::weak_ptr<Watcher>> watchers_;
  std::vector<Removal> removals_;
  std::map<std::string, json::Value> applied_;  // the last body that was applied, by object
  std::vector<kube::Write> log_;
};

class FakeClient : public kube::Client {
 public:
  FakeClient(FakeApi& api, Executor& executor) : api_(api), executor_(executor) {}
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
  FakeApi& api_;
  Executor& executor_;
};

}  // namespace hekla::test
