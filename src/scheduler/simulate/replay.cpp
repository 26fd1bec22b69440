#include "scheduler/simulate/replay.h"

#include <memory>

#include "json/codec.h"
#include "json/parse.h"
#include "model/time.h"
#include "scheduler/loop/recording.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class RecordedClock final : public Clock {
 public:
  WallTime wall() const override { return now; }
  MonoTime mono() const override { return MonoTime(now.time_since_epoch()); }
  WallTime now{};
};

std::vector<std::string> string_list(const json::Value& line, std::string_view key) {
  std::vector<std::string> out;
  if (const json::Array* list = json::array_at(line, {key}))
    for (const json::Value& one : *list)
      if (one.is_string()) out.emplace_back(json::sv(one.get_string()));
  return out;
}

class Replay {
 public:
  explicit Replay(std::string_view configuration) : override_(configuration) {}

  Result<void> take(const json::Value& line) {
    if (json::find(line, "record")) return begin(line);
    if (!session_) return fail(Code::invalid, "the record does not begin with its header");
    if (json::find(line, "configuration")) {
      if (!override_.empty()) return {};
      std::string_view text = json::string_at(line, {"configuration"});
      session_->configure(
          TRY(parse_configuration(text.empty() ? helm_default_configuration() : text)));
      return {};
    }
    if (json::find(line, "put") || json::find(line, "gone")) return change(line);
    if (json::find(line, "session")) return run(line);
    if (json::find(line, "bound")) answer_bind(line);
    if (json::find(line, "status")) answer_status(line);
    return {};
  }
  ReplayResult result;

 private:
  Result<void> begin(const json::Value& line) {
    if (json::int_at(line, {"version"}) != 1)
      return fail(Code::invalid, "the record has a version this program does not know");
    cluster_ = std::make_unique<Cluster>(ClusterOptions{
        string_list(line, "schedulerNames"), string_list(line, "singlePodSchedulers"),
        std::string(json::string_at(line, {"defaultQueue"}))});
    session_ = std::make_unique<Session>(*cluster_);
    session_->look_again_after(kLookAgain);
    session_->configure(
        TRY(parse_configuration(override_.empty() ? helm_default_configuration() : override_)));
    return {};
  }

  template <class T>
  Result<void> apply(const json::Value& line, bool put) {
    T object = TRY(json::decode<T>(*json::find(line, "object")));
    if (put)
      cluster_->put(object);
    else
      cluster_->remove(object);
    return {};
  }
  Result<void> change(const json::Value& line) {
    bool put = json::find(line, "put") != nullptr;
    std::string_view kind = json::string_at(line, {put ? "put" : "gone"});
    if (!json::find(line, "object")) return fail(Code::invalid, "a change has no object");
    if (kind == "Node") return apply<model::Node>(line, put);
    if (kind == "Pod") return apply<model::Pod>(line, put);
    if (kind == "PodGroup") return apply<model::PodGroup>(line, put);
    if (kind == "Queue") return apply<model::Queue>(line, put);
    if (kind == "PriorityClass") return apply<model::PriorityClass>(line, put);
    if (std::optional<CompanionKind> companion = companion_kind(kind)) {
      Companion object = TRY(json::decode<Companion>(*json::find(line, "object")));
      if (put)
        cluster_->put(*companion, object);
      else
        cluster_->remove(*companion, object);
      return {};
    }
    return fail(Code::invalid, "a change of the unknown kind " + std::string(kind));
  }

  Result<void> run(const json::Value& line) {
    clock_.now = WallTime(Nanos(json::int_at(line, {"wall"})));
    std::string uid(json::string_at(line, {"session"}));
    const Decisions& decisions = session_->run(clock_, uid);
    ++result.sessions;
    result.binds += decisions.binds.size();
    result.evictions += decisions.evictions.size();
    for (const GroupDecision& group : decisions.groups) ++cluster_->edit(group.job).status_writes;
    std::string have = json::serialize(json::Value(recorded_binds(*cluster_, decisions)));
    std::string gone = json::serialize(json::Value(recorded_evictions(*cluster_, decisions)));
    const json::Value* binds = json::find(line, "binds");
    const json::Value* evictions = json::find(line, "evictions");
    std::string had = binds ? json::serialize(*binds) : "[]";
    std::string went = evictions ? json::serialize(*evictions) : "[]";
    std::string at = model::format_rfc3339(clock_.now) + " session " + uid;
    if (have != "[]" || gone != "[]")
      result.log.push_back(at + ": binds " + have + (gone == "[]" ? "" : ", evicts " + gone));
    if (have != had || gone != went)
      result.differences.push_back(at + ": binds " + have + ", evicts " + gone +
                                   "; recorded: binds " + had + ", evicts " + went);
    return {};
  }

  void answer_bind(const json::Value& line) {
    std::string name(json::string_at(line, {"bound"}));
    std::size_t slash = name.find('/');
    if (slash == std::string::npos) return;
    TaskId task = cluster_->find_task(name.substr(0, slash), name.substr(slash + 1));
    if (!task.valid()) return;
    std::string uid(json::string_at(line, {"uid"}));
    if (json::bool_at(line, {"ok"}))
      cluster_->bind_succeeded(task, uid);
    else
      cluster_->bind_failed(task, uid);
  }

  void answer_status(const json::Value& line) {
    std::string name(json::string_at(line, {"status"}));
    std::size_t slash = name.find('/');
    if (slash == std::string::npos) return;
    JobId id = cluster_->find_job(name.substr(0, slash), name.substr(slash + 1));
    if (!id.valid() || cluster_->at(id).uid != json::string_at(line, {"uid"})) return;
    Job& job = cluster_->edit(id);
    if (job.status_writes > 0) --job.status_writes;
    if (!json::bool_at(line, {"ok"})) job.status_unwritten = true;
  }

  std::string_view override_;
  RecordedClock clock_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Session> session_;
};

}  // namespace

Result<ReplayResult> replay(std::string_view record, std::string_view configuration) {
  Replay run(configuration);
  std::size_t number = 0;
  while (!record.empty()) {
    std::size_t end = record.find('\n');
    if (end == std::string_view::npos) break;
    std::string_view line = record.substr(0, end);
    record.remove_prefix(end + 1);
    ++number;
    if (line.empty()) continue;
    Result<json::Value> value = json::parse(line);
    if (!value)
      return fail(Code::invalid, "line " + std::to_string(number) + ": " + value.error().message);
    if (Result<void> taken = run.take(*value); !taken)
      return fail(taken.error().code,
                  "line " + std::to_string(number) + ": " + taken.error().message);
  }
  return std::move(run.result);
}

std::string ReplayResult::text(bool with_sessions) const {
  std::string out = std::to_string(sessions) + " sessions, " + std::to_string(binds) +
                    " bindings, " + std::to_string(evictions) + " evictions; ";
  out += same() ? "every session decided as it was recorded\n"
                : std::to_string(differences.size()) + " sessions decided otherwise\n";
  if (with_sessions)
    for (const std::string& line : log) out += line + "\n";
  for (const std::string& line : differences) out += "differs: " + line + "\n";
  return out;
}

}  // namespace hekla::scheduler
