// A Client whose answers the test writes: it records what was asked and answers when told to.
#pragma once

#include <deque>

#include "json/value.h"
#include "kube/client.h"

namespace hekla::kube {

inline ObjectPtr object(const std::string& ns, const std::string& name, std::uint64_t version,
                        const std::string& phase = {}) {
  json::Value value =
      json::Object{{"metadata", json::Object{{"name", name},
                                             {"namespace", ns},
                                             {"uid", "uid-" + name},
                                             {"resourceVersion", std::to_string(version)}}},
                   {"status", json::Object{{"phase", phase}}}};
  return std::make_shared<const Object>(
      Object{ns, name, "uid-" + name, version,
             std::make_shared<const std::string>(json::serialize(value))});
}

class ScriptedClient final : public Client {
 public:
  explicit ScriptedClient(Executor& executor) : executor_(executor) {}

  struct OpenWatch final : Watch {
    ScriptedClient& client;
    explicit OpenWatch(ScriptedClient& c) : client(c) {}
    ~OpenWatch() override { client.watch_open = false; }
  };

  Executor& executor() override { return executor_; }
  void get(const Resource&, const Key&,
           std::move_only_function<void(Result<ObjectPtr>)> done) override {
    done(fail(Code::not_found, "no such object"));
  }
  void list(const Resource&, const ListOptions&,
            std::move_only_function<void(Result<List>)> done) override {
    ++lists;
    executor_.post([this, done = std::move(done)]() mutable { done(next_list()); });
  }
  std::unique_ptr<Watch> watch(const Resource&, const WatchOptions& options,
                               WatchCallbacks callbacks) override {
    watched_from.push_back(options.resource_version);
    callbacks_ = std::move(callbacks);
    watch_open = true;
    return std::make_unique<OpenWatch>(*this);
  }
  void batch(std::vector<Write> writes, BatchDone done) override {
    batches.push_back(writes);
    pending.push_back(std::move(done));
  }

  void send(WatchEvent::Type type, const ObjectPtr& of) {
    callbacks_.on_events({WatchEvent{type, of, of->resource_version}});
  }
  void break_watch(Code code) { callbacks_.on_error(Error{code, "broken by the test"}); }
  void answer(std::vector<WriteResult> results) {
    BatchDone done = std::move(pending.front());
    pending.pop_front();
    done(std::move(results));
  }

  std::deque<Result<List>> list_answers;
  int lists = 0;
  std::vector<std::uint64_t> watched_from;
  bool watch_open = false;
  std::vector<std::vector<Write>> batches;
  std::deque<BatchDone> pending;

 private:
  Result<List> next_list() {
    if (list_answers.empty()) return List{};
    Result<List> answer = std::move(list_answers.front());
    list_answers.pop_front();
    return answer;
  }

  Executor& executor_;
  WatchCallbacks callbacks_;
};

}  // namespace hekla::kube
