#include "pipelines/page/run_topic.h"

#include <map>
#include <mutex>
#include <set>

#include "json/value.h"

namespace hekla::pipelines::page {
namespace {

// A run of many steps changes hundreds of times a second; nobody reads faster than this.
constexpr Nanos kGather = std::chrono::milliseconds(60);

}  // namespace

struct RunTopic::State : std::enable_shared_from_this<RunTopic::State> {
  struct Reader {
    std::string only;  // "runs/ID"; empty: everything
    std::shared_ptr<kube::TopicSink> sink;
  };
  class Subscription final : public kube::TopicSubscription {
   public:
    Subscription(std::shared_ptr<State> state, std::uint64_t id)
        : state_(std::move(state)), id_(id) {}
    ~Subscription() override {
      std::lock_guard lock(state_->mutex);
      state_->readers.erase(id_);
    }

   private:
    std::shared_ptr<State> state_;
    std::uint64_t id_;
  };

  explicit State(Executor& given) : executor(given) {}

  void changed(std::vector<std::string> what) {
    std::lock_guard lock(mutex);
    if (readers.empty()) return;
    for (std::string& one : what) waiting.insert(std::move(one));
    if (waiting.empty() || std::exchange(scheduled, true)) return;
    executor.post_after(kGather, [self = shared_from_this()] { self->tell(); });
  }

  void tell() {
    std::lock_guard lock(mutex);
    scheduled = false;
    for (const auto& [id, reader] : readers) {
      std::vector<kube::TopicChange> changes;
      for (const std::string& one : waiting)
        if (reader.only.empty() || reader.only == one)
          changes.push_back(
              {kube::TopicChange::Type::modified, json::serialize(json::Object{{"uid", one}})});
      if (!changes.empty()) reader.sink->changes(std::move(changes), "");
    }
    waiting.clear();
  }

  std::unique_ptr<kube::TopicSubscription> begin(const kube::TopicRequest& request,
                                                 std::shared_ptr<kube::TopicSink> sink) {
    const auto run = request.parameters.find("run");
    // A reader asks anew because of the snapshot, after a lost connection too.
    sink->snapshot({}, "");
    std::lock_guard lock(mutex);
    const std::uint64_t id = ++last;
    readers[id] = {run == request.parameters.end() ? "" : "runs/" + run->second, std::move(sink)};
    return std::make_unique<Subscription>(shared_from_this(), id);
  }

  Executor& executor;
  std::mutex mutex;
  std::map<std::uint64_t, Reader> readers;
  std::set<std::string> waiting;
  std::uint64_t last = 0;
  bool scheduled = false;
};

RunTopic::RunTopic(Executor& executor) : state_(std::make_shared<State>(executor)) {}

void RunTopic::runs_changed(const std::vector<std::string>& ids) {
  std::vector<std::string> what{"runs"};
  for (const std::string& id : ids) what.push_back("runs/" + id);
  state_->changed(std::move(what));
}

void RunTopic::list_changed(const std::string& name) { state_->changed({name}); }

kube::StreamTopic RunTopic::topic() const {
  return {"runs",
          [state = state_](kube::TopicRequest request, std::shared_ptr<kube::TopicSink> sink) {
            return state->begin(request, std::move(sink));
          }};
}

}  // namespace hekla::pipelines::page
