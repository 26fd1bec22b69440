// Runs test/scenarios/scheduler/*.yaml: a cluster in, sessions, decisions out. The format stands in
// that directory's README.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>

#include "base/disk.h"
#include "json/parse.h"
#include "scheduler/session/action.h"
#include "scheduler/session/invariants.h"
#include "scheduler/session/session.h"
#include "scheduler/shorthand_test.h"
#include "support/sim_executor.h"

namespace hekla::scheduler {
namespace {

namespace fs = std::filesystem;
using shorthand::text_of;

// "tiers: [[priority, gang], [...]]" or one tier as "plugins: [...]"; a plugin is a name or an
// object.
std::string configuration_text(const json::Value& config) {
  if (const json::Value* text = json::find(config, "text")) return text_of(*text);
  json::Object out;
  std::string actions;
  if (const json::Array* list = json::array_at(config, {"actions"}))
    for (const json::Value& action : *list)
      actions.append(actions.empty() ? "" : ", ").append(text_of(action));
  out["actions"] = actions.empty() ? "enqueue, allocate, backfill" : actions;
  json::Array tiers;
  auto add_tier = [&](const json::Array& plugins) {
    json::Array tier;
    for (const json::Value& plugin : plugins)
      tier.push_back(plugin.is_object() ? plugin
                                        : json::Value(json::Object{{"name", text_of(plugin)}}));
    tiers.push_back(json::Object{{"plugins", std::move(tier)}});
  };
  if (const json::Array* plugins = json::array_at(config, {"plugins"})) add_tier(*plugins);
  if (const json::Array* given = json::array_at(config, {"tiers"}))
    for (const json::Value& tier : *given) add_tier(tier.as_array());
  out["tiers"] = std::move(tiers);
  return json::to_yaml(out);
}

// A part of the scheduler that does nothing: all plugins' answers to a hook, one plugin's, or an
// action.
struct Mutant {
  std::optional<Hook> hook;
  std::string plugin;  // empty: every plugin's
  std::string action;

  void cripple(Configuration& configuration) const {
    std::erase(configuration.actions, action);
    for (Tier& tier : configuration.tiers)
      for (PluginOption& option : tier.plugins)
        if (hook && (plugin.empty() || plugin == option.name))
          option.enabled.reset(index_of(*hook));
  }
};

// How busy nodes are, as a scenario says.
class GivenLoads final : public NodeLoads {
 public:
  std::optional<NodeLoad> of(std::string_view node) const override {
    auto found = loads.find(node);
    if (found == loads.end()) return std::nullopt;
    return found->second;
  }
  std::map<std::string, NodeLoad, std::less<>> loads;
};

class Runner {
 public:
  explicit Runner(const json::Value& document, Mutant mutant = {})
      : document_(document), mutant_(std::move(mutant)) {}

  void run() {
    const json::Value* config = json::find(document_, "config");
    std::string text =
        config ? configuration_text(*config) : std::string(helm_default_configuration());
    Result<Configuration> configuration = parse_configuration(text);
    ASSERT_TRUE(configuration) << configuration.error().message;
    mutant_.cripple(*configuration);
    session_.configure(std::move(*configuration));
    session_.use({&loads_, nullptr});
    const json::Value* given = json::find(document_, "given");
    if (given) apply_all(*given);
    if (!cluster_.find_queue("default").valid() ||
        !cluster_.at(cluster_.find_queue("default")).live)
      put_queue(json::Object{{"name", "default"}});
    const json::Array* steps = json::array_at(document_, {"steps"});
    ASSERT_NE(steps, nullptr) << "a scenario has steps";
    for (std::size_t i = 0; i < steps->size(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i + 1));
      step((*steps)[i]);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  const std::string& transcript() const { return transcript_; }

 private:
  void step(const json::Value& step) {
    for (const auto& member : step.as_object()) {
      std::string_view what = member.key();
      const json::Value& value = member.value();
      if (what == "apply")
        apply_all(value);
      else if (what == "remove" && value.is_string() && text_of(value) == "evicted")
        remove_evicted();
      else if (what == "remove")
        remove(value);
      else if (what == "run")
        run_pods(value);
      else if (what == "refuse")
        refuse(value);
      else if (what == "advance")
        clock_.advance(std::chrono::seconds(value.to_number<std::int64_t>()));
      else if (what == "cycle")
        cycle(value.to_number<std::int64_t>());
      else if (what == "expect")
        expect(value);
      else
        FAIL() << "unknown step " << what;
    }
  }

  // ---- objects in ----

  void apply_all(const json::Value& given) {
    for (const auto& member : given.as_object()) {
      std::string kind(member.key());
      if (kind.ends_with("s")) kind.pop_back();
      if (kind == "priorityClasse") kind = "priorityClass";
      if (member.value().is_array())
        for (const json::Value& one : member.value().get_array()) apply(kind, one);
      else
        apply(kind, member.value());
    }
  }

  void apply(const std::string& kind, const json::Value& value) {
    if (kind == "node")
      apply_nodes(value);
    else if (kind == "queue")
      put_queue(value);
    else if (kind == "group")
      put_group(value);
    else if (kind == "pod")
      put_pod(shorthand::pod(value, order_++));
    else if (kind == "priorityClass")
      put_priority_class(value);
    else if (kind == "object")
      put_object(value);
    else if (kind == "load")
      loads_.loads[text_of(*json::find(value, "node"))] = {
          Arguments(value).number("cpu", 0), Arguments(value).number("memory", 0),
          clock_.wall() - std::chrono::seconds(json::int_at(value, {"age"}))};
    else if (kind == "hyperNode")
      put_companion(CompanionKind::hyper_node, shorthand::hyper_node(value));
    else
      FAIL() << "cannot apply a " << kind;
  }

  template <class T>
  T decode(const json::Value& value) {
    Result<T> decoded = json::decode<T>(value);
    EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message) << json::serialize(value);
    return decoded ? *decoded : T{};
  }

  void apply_nodes(const json::Value& value) {
    std::int64_t count = json::int_at(value, {"count"}, 0);
    if (count == 0) {
      cluster_.put(decode<model::Node>(shorthand::node(value)));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      json::Value one = value;
      one.as_object()["name"] = text_of(*json::find(value, "name")) + std::to_string(i);
      cluster_.put(decode<model::Node>(shorthand::node(one)));
    }
  }
  void put_queue(const json::Value& value) {
    cluster_.put(decode<model::Queue>(shorthand::queue(value)));
  }
  void put_group(const json::Value& value) {
    json::Value full = shorthand::group(value, order_++);
    // Applied again without a phase, a group keeps the status it has.
    JobId known = cluster_.find_job(json::string_at(full, {"metadata", "namespace"}),
                                    json::string_at(full, {"metadata", "name"}));
    if (known.valid() && cluster_.at(known).has_group && !json::find(value, "phase"))
      json::at_path(full, {"status", "phase"}) = name_of(cluster_.at(known).phase);
    cluster_.put(decode<model::PodGroup>(full));
    for (const json::Value& pod : shorthand::pods_of(value)) put_pod(shorthand::pod(pod, order_++));
  }
  void put_pod(const json::Value& full) {
    model::Pod pod = decode<model::Pod>(full);
    pods_[pod.metadata.name] = pod;
    cluster_.put(pod);
  }
  void put_priority_class(const json::Value& value) {
    model::PriorityClass one;
    one.metadata.name = std::string(json::string_at(value, {"name"}));
    one.value = static_cast<std::int32_t>(json::int_at(value, {"value"}));
    one.globalDefault = json::bool_at(value, {"globalDefault"});
    cluster_.put(one);
  }
  void put_object(const json::Value& value) {
    std::string_view kind = json::string_at(value, {"kind"});
    if (kind == "Node")
      cluster_.put(decode<model::Node>(value));
    else if (kind == "Queue")
      cluster_.put(decode<model::Queue>(value));
    else if (kind == "PodGroup")
      cluster_.put(decode<model::PodGroup>(value));
    else if (kind == "Pod")
      put_pod(value);
    else if (std::optional<CompanionKind> companion = companion_kind(kind))
      put_companion(*companion, value);
    else
      FAIL() << "cannot apply an object of kind " << kind;
  }
  void put_companion(CompanionKind kind, const json::Value& value) {
    Companion object = decode<Companion>(value);
    cluster_.put(kind, object);
    companions_.insert_or_assign(object.metadata.name, std::pair(kind, object));
  }

  void remove(const json::Value& what) {
    for (const auto& member : what.as_object()) {
      std::string name = text_of(member.value());
      if (member.key() == "pod") {
        cluster_.remove(pods_.at(name));
        pods_.erase(name);
      } else if (member.key() == "node") {
        model::Node node;
        node.metadata.name = name;
        cluster_.remove(node);
      } else if (member.key() == "queue") {
        model::Queue queue;
        queue.metadata.name = name;
        cluster_.remove(queue);
      } else if (member.key() == "group") {
        model::PodGroup group;
        group.metadata.ns = "default";
        group.metadata.name = name;
        group.metadata.uid = "group-" + name;
        cluster_.remove(group);
      } else if (member.key() == "object") {
        const auto& [kind, object] = companions_.at(name);
        cluster_.remove(kind, object);
      }
    }
  }

  // The evicted pods are gone from their nodes.
  void remove_evicted() {
    std::vector<std::string> gone;
    for (const auto& [name, pod] : pods_) {
      TaskId id = cluster_.find_task(pod.metadata.ns, name);
      if (id.valid() && cluster_.at(id).evicting) gone.push_back(name);
    }
    for (const std::string& name : gone) {
      cluster_.remove(pods_.at(name));
      pods_.erase(name);
    }
  }

  // "run: Running" gives every bound pod that phase; "run: {pod: Succeeded}" one.
  void run_pods(const json::Value& value) {
    auto set = [&](model::Pod& pod, const std::string& phase) {
      const Task& task = cluster_.at(cluster_.find_task(pod.metadata.ns, pod.metadata.name));
      if (task.node.valid()) pod.spec.nodeName = cluster_.at(task.node).name;
      pod.status.phase = phase == "Bound" ? "Pending" : phase;
      cluster_.put(pod);
    };
    if (value.is_object()) {
      for (const auto& member : value.get_object())
        set(pods_.at(member.key()), text_of(member.value()));
      return;
    }
    for (auto& [name, pod] : pods_) {
      TaskId id = cluster_.find_task(pod.metadata.ns, name);
      if (id.valid() && is_allocated(cluster_.at(id).status)) set(pod, text_of(value));
    }
  }
  // The API refuses the bindings of these pods.
  void refuse(const json::Value& names) {
    for (const json::Value& name : names.as_array()) {
      const model::Pod& pod = pods_.at(text_of(name));
      cluster_.bind_failed(cluster_.find_task(pod.metadata.ns, pod.metadata.name),
                           pod.metadata.uid);
    }
  }

  // ---- sessions and decisions out ----

  void cycle(std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      last_ = session_.run(clock_, "session-" + std::to_string(++sessions_));
      for (std::string_view name : invariants::expected_of(session_.configuration()))
        EXPECT_EQ(invariants::check(name, cluster_, last_), "");
      transcript_ += describe_decisions();
    }
  }

  std::string describe_decisions() const {
    std::string out = "session\n";
    for (const BindDecision& bind : last_.binds)
      out += "bind " + cluster_.at(bind.task).name + " " + cluster_.at(bind.node).name + "\n";
    for (const EvictDecision& evict : last_.evictions)
      out += "evict " + cluster_.at(evict.task).name + " " + evict.reason + "\n";
    for (const BindDecision& wait : last_.pipelined)
      out += "wait " + cluster_.at(wait.task).name + " " + cluster_.at(wait.node).name + "\n";
    for (const EventDecision& event : last_.events) out += event.message + "\n";
    return out;
  }

  void expect(const json::Value& wanted) {
    for (const auto& member : wanted.as_object()) {
      std::string_view what = member.key();
      const json::Value& value = member.value();
      if (what == "binds")
        expect_binds(value.as_object());
      else if (what == "evictions")
        expect_evictions(value);
      else if (what == "pipelined")
        expect_pipelined(value.as_object());
      else if (what == "nodes")
        expect_nodes(value.as_object());
      else if (what == "phases")
        expect_phases(value.as_object());
      else if (what == "conditions")
        expect_conditions(value.as_object());
      else if (what == "messages")
        expect_messages(value.as_object());
      else if (what == "pods")
        expect_pods(value.as_object());
      else if (what == "events")
        expect_events(value.as_array());
      else if (what == "queues")
        expect_queues(value.as_object());
      else if (what == "writes")
        expect_writes(value.as_object());
      else if (what == "hyperNodes")
        expect_hyper_nodes(value.as_object());
      else if (what == "granted")
        expect_granted(value.as_object());
      else if (what == "annotations")
        expect_annotations(value.as_object());
      else if (what == "claims")
        expect_claims(value.as_object());
      else if (what == "devices")
        expect_devices(value.as_object());
      else if (what == "allocations")
        expect_allocations(value.as_object());
      else if (what == "invariants")
        expect_invariants(value.as_array());
      else
        FAIL() << "unknown expectation " << what;
    }
  }

  // By group: how many; by pod: true, or the node. Whatever is not named must not be bound.
  void expect_binds(const json::Object& wanted) {
    std::map<std::string, std::string> by_pod;
    std::map<std::string, std::int64_t> by_group;
    for (const BindDecision& bind : last_.binds) {
      const Task& task = cluster_.at(bind.task);
      by_pod[task.name] = cluster_.at(bind.node).name;
      ++by_group[cluster_.at(task.job).name];
    }
    for (const auto& member : wanted) {
      std::string name(member.key());
      if (member.value().is_number()) {
        EXPECT_EQ(by_group[name], member.value().to_number<std::int64_t>()) << "pods of " << name;
        by_group.erase(name);
        continue;
      }
      auto found = by_pod.find(name);
      ASSERT_NE(found, by_pod.end()) << name << " is not bound";
      if (member.value().is_string()) {
        EXPECT_EQ(found->second, text_of(member.value())) << name;
      }
      const model::Pod& pod = pods_.at(name);
      const Task& task = cluster_.at(cluster_.find_task(pod.metadata.ns, name));
      --by_group[cluster_.at(task.job).name];
    }
    for (const auto& [group, count] : by_group)
      EXPECT_EQ(count, 0) << "unexpected bindings of " << group;
  }

  // A list of pods, or how many by group; nobody else may be evicted.
  void expect_evictions(const json::Value& wanted) {
    std::map<std::string, std::int64_t> by_group;
    std::vector<std::string> have, want;
    for (const EvictDecision& evict : last_.evictions) {
      const Task& task = cluster_.at(evict.task);
      have.push_back(task.name);
      ++by_group[cluster_.at(task.job).name];
    }
    if (wanted.is_array()) {
      for (const json::Value& name : wanted.get_array()) want.push_back(text_of(name));
      std::sort(have.begin(), have.end());
      std::sort(want.begin(), want.end());
      EXPECT_EQ(have, want) << "evicted";
      return;
    }
    for (const auto& member : wanted.as_object()) {
      EXPECT_EQ(by_group[member.key()], member.value().to_number<std::int64_t>())
          << "evicted pods of " << member.key();
      by_group.erase(member.key());
    }
    for (const auto& [group, count] : by_group)
      EXPECT_EQ(count, 0) << "unexpected evictions of " << group;
  }

  // By pod: the node it waits for, or true; by group: how many. Nobody else may wait.
  void expect_pipelined(const json::Object& wanted) {
    std::map<std::string, std::string> by_pod;
    std::map<std::string, std::int64_t> by_group;
    for (const BindDecision& wait : last_.pipelined) {
      const Task& task = cluster_.at(wait.task);
      by_pod[task.name] = cluster_.at(wait.node).name;
      ++by_group[cluster_.at(task.job).name];
    }
    std::size_t named = 0;
    for (const auto& member : wanted) {
      if (member.value().is_number()) {
        EXPECT_EQ(by_group[member.key()], member.value().to_number<std::int64_t>())
            << "waiting pods of " << member.key();
        named += static_cast<std::size_t>(by_group[member.key()]);
        continue;
      }
      ++named;
      ASSERT_TRUE(by_pod.contains(member.key())) << member.key() << " is not pipelined";
      if (member.value().is_string()) {
        EXPECT_EQ(by_pod[member.key()], text_of(member.value())) << member.key();
      }
    }
    EXPECT_EQ(last_.pipelined.size(), named) << "pods that wait for a node";
  }

  void expect_nodes(const json::Object& wanted) {
    for (const auto& member : wanted) {
      std::int64_t count = 0;
      for (const BindDecision& bind : last_.binds)
        count += cluster_.at(bind.node).name == std::string_view(member.key());
      EXPECT_EQ(count, member.value().to_number<std::int64_t>())
          << "pods bound to " << member.key();
    }
  }

  const Job& job(std::string_view name) {
    JobId id = cluster_.find_job("default", name);
    EXPECT_TRUE(id.valid()) << "no group " << name;
    return cluster_.at(id);
  }

  void expect_phases(const json::Object& wanted) {
    for (const auto& member : wanted)
      EXPECT_EQ(name_of(job(member.key()).phase), text_of(member.value())) << member.key();
  }

  void expect_conditions(const json::Object& wanted) {
    for (const auto& member : wanted) {
      std::string have, want;
      for (const GroupCondition& condition : job(member.key()).conditions)
        have += condition.type + " ";
      if (member.value().is_array())
        for (const json::Value& type : member.value().get_array()) want += text_of(type) + " ";
      else
        want = text_of(member.value()) + " ";
      EXPECT_EQ(have, want) << member.key();
    }
  }

  void expect_messages(const json::Object& wanted) {
    for (const auto& member : wanted) {
      std::string have = "(no Unschedulable condition)";
      for (const GroupCondition& condition : job(member.key()).conditions)
        if (condition.type == "Unschedulable") have = condition.message;
      EXPECT_EQ(have, text_of(member.value())) << member.key();
    }
  }

  void expect_pods(const json::Object& wanted) {
    for (const auto& member : wanted) {
      auto found = std::find_if(last_.pods.begin(), last_.pods.end(), [&](const auto& decision) {
        return cluster_.at(decision.task).name == std::string_view(member.key());
      });
      if (member.value().is_null()) {
        EXPECT_EQ(found, last_.pods.end()) << member.key() << " got a condition";
        continue;
      }
      ASSERT_NE(found, last_.pods.end()) << member.key() << " got no condition";
      if (std::string_view reason = json::string_at(member.value(), {"reason"}); !reason.empty()) {
        EXPECT_EQ(found->reason, reason) << member.key();
      }
      if (std::string_view message = json::string_at(member.value(), {"message"});
          !message.empty()) {
        EXPECT_EQ(found->message, message) << member.key();
      }
    }
  }

  std::string describe(const EventDecision& event) {
    std::string on =
        event.task.valid() ? cluster_.at(event.task).name : cluster_.at(event.job).name;
    return on + " " + (event.warning ? "Warning " : "Normal ") + event.reason + ": " +
           event.message;
  }
  // "<object> <type> <reason>: <message>", each at least once.
  void expect_events(const json::Array& wanted) {
    std::vector<std::string> have;
    for (const EventDecision& event : last_.events) have.push_back(describe(event));
    for (const json::Value& one : wanted) {
      std::string all;
      for (const std::string& line : have) all += "\n  " + line;
      EXPECT_NE(std::find(have.begin(), have.end(), text_of(one)), have.end())
          << "no event \"" << text_of(one) << "\" among" << all;
    }
    if (wanted.empty()) {
      EXPECT_TRUE(have.empty()) << have.front();
    }
  }

  void expect_queues(const json::Object& wanted) {
    for (const auto& member : wanted) {
      QueueId id = cluster_.find_queue(member.key());
      ASSERT_TRUE(id.valid()) << "no queue " << member.key();
      const Queue& queue = cluster_.at(id);
      const QueueCounts& counts = queue.written_counts;
      const std::map<std::string_view, std::int64_t> numbers{{"pending", counts.pending},
                                                             {"running", counts.running},
                                                             {"inqueue", counts.inqueue},
                                                             {"unknown", counts.unknown},
                                                             {"completed", counts.completed}};
      for (const auto& field : member.value().as_object()) {
        std::string_view name = field.key();
        if (auto number = numbers.find(name); number != numbers.end()) {
          EXPECT_EQ(number->second, field.value().to_number<std::int64_t>()) << name;
          continue;
        }
        std::optional<Dim> dim = cluster_.dimensions().find(name);
        ASSERT_TRUE(dim) << name;
        EXPECT_EQ(cluster_.dimensions().quantity(*dim, queue.written_allocated[*dim]).text(),
                  text_of(field.value()))
            << member.key() << " " << name;
      }
    }
  }

  void expect_hyper_nodes(const json::Object& wanted) {
    for (const auto& member : wanted)
      EXPECT_EQ(job(member.key()).hyper_node, text_of(member.value())) << member.key();
  }

  void expect_granted(const json::Object& wanted) {
    for (const auto& member : wanted)
      EXPECT_EQ(job(member.key()).granted, member.value().to_number<std::int32_t>())
          << member.key();
  }

  const BindPreparation& preparation_of(std::string_view pod) {
    static const BindPreparation kNone;
    for (const BindPreparation& one : last_.preparations)
      if (cluster_.at(one.task).name == pod) return one;
    return kNone;
  }
  // By pod: what its binding brings along.
  void expect_annotations(const json::Object& wanted) {
    for (const auto& member : wanted) {
      std::map<std::string, std::string> have, want;
      for (const auto& [name, value] : preparation_of(member.key()).annotations) have[name] = value;
      for (const auto& one : member.value().as_object()) want[one.key()] = text_of(one.value());
      EXPECT_EQ(have, want) << member.key();
    }
  }
  // By pod and claim: the volume it gets; null: one is to be made.
  void expect_claims(const json::Object& wanted) {
    for (const auto& member : wanted) {
      std::map<std::string, std::string> have, want;
      for (const auto& claim : preparation_of(member.key()).claims) have[claim.name] = claim.volume;
      for (const auto& one : member.value().as_object())
        want[one.key()] = one.value().is_null() ? "" : text_of(one.value());
      EXPECT_EQ(have, want) << member.key();
    }
  }

  // By pod and resource claim: the devices it gets, "driver/pool/device" in a list; null: it has
  // them.
  void expect_devices(const json::Object& wanted) {
    for (const auto& member : wanted) {
      json::Object have;
      for (const auto& claim : preparation_of(member.key()).devices) {
        if (claim.allocation.is_null()) {
          have[claim.name] = nullptr;
          continue;
        }
        json::Array list;
        for (const json::Value& one : *json::array_at(claim.allocation, {"devices", "results"}))
          list.push_back(json::Value(std::string(json::string_at(one, {"driver"})) + "/" +
                                     std::string(json::string_at(one, {"pool"})) + "/" +
                                     std::string(json::string_at(one, {"device"}))));
        have[claim.name] = std::move(list);
      }
      EXPECT_TRUE(json::equal(json::Value(have), member.value()))
          << member.key() << " gets " << json::serialize(json::Value(have));
    }
  }

  // By pod and resource claim: the allocation as it is written.
  void expect_allocations(const json::Object& wanted) {
    for (const auto& member : wanted) {
      json::Object have;
      for (const auto& claim : preparation_of(member.key()).devices)
        have[claim.name] = claim.allocation;
      EXPECT_TRUE(json::equal(json::Value(have), member.value()))
          << member.key() << " gets " << json::serialize(json::Value(have));
    }
  }

  void expect_writes(const json::Object& wanted) {
    const std::map<std::string_view, std::size_t> have{
        {"binds", last_.binds.size()},   {"evictions", last_.evictions.size()},
        {"groups", last_.groups.size()}, {"pods", last_.pods.size()},
        {"events", last_.events.size()}, {"queues", last_.queues.size()}};
    for (const auto& member : wanted)
      EXPECT_EQ(have.at(member.key()), member.value().to_number<std::size_t>()) << member.key();
  }

  void expect_invariants(const json::Array& wanted) {
    for (const json::Value& name : wanted)
      EXPECT_EQ(invariants::check(text_of(name), cluster_, last_), "") << text_of(name);
  }

  const json::Value& document_;
  Mutant mutant_;
  std::string transcript_;
  sim::SimClock clock_;
  GivenLoads loads_;
  Cluster cluster_{{{"volcano", "default-scheduler"}, {"default-scheduler"}, "default"}};
  Session session_{cluster_};
  Decisions last_;
  std::map<std::string, model::Pod, std::less<>> pods_;
  std::map<std::string, std::pair<CompanionKind, Companion>, std::less<>> companions_;
  int order_ = 0;
  int sessions_ = 0;
};

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator("test/scenarios/scheduler", missing))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

class SchedulerScenario : public testing::TestWithParam<std::string> {};

TEST_P(SchedulerScenario, Holds) {
  Result<std::string> text = read_file(GetParam());
  ASSERT_TRUE(text) << text.error().message;
  Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(*text);
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_FALSE(documents->empty());
  for (const json::YamlDocument& document : *documents) {
    SCOPED_TRACE(GetParam() + ":" + std::to_string(document.line) + " " +
                 std::string(json::string_at(document.value, {"scenario"})));
    Runner first(document.value), again(document.value);
    first.run();
    if (HasFailure()) continue;
    again.run();
    EXPECT_EQ(first.transcript(), again.transcript()) << "the same input gave another outcome";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, SchedulerScenario, testing::ValuesIn(scenario_files()), [](const auto& file) {
      std::string name = fs::path(file.param).stem().string();
      std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

// ---- mutants: what may be crippled without a scenario noticing is not tested ----

// Whether some scenario breaks; which one.
std::string killer_of(const Mutant& mutant) {
  for (const std::string& file : scenario_files()) {
    Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(*read_file(file));
    for (const json::YamlDocument& document : *documents) {
      testing::TestPartResultArray failures;
      testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
      Runner(document.value, mutant).run();
      if (failures.size() > 0)
        return fs::path(file).filename().string() + ":" + std::to_string(document.line);
    }
  }
  return {};
}

Hooks answered_by(const PluginInfo& info) {
  PluginOption option;
  option.name = std::string(info.name);
  option.hierarchy = true;
  return info.make(option)->hooks();
}

// Slow, and every new hook needs a scenario: `make mutants` runs it.
TEST(Mutants, DISABLED_EveryHookAndActionIsNeededBySomeScenario) {
  std::size_t alive = 0, pairs = 0;
  for (const ActionInfo* action : all_actions()) {
    std::string killer = killer_of({{}, {}, std::string(action->name)});
    std::cout << "action " << action->name << ": " << killer << "\n";
    EXPECT_NE(killer, "") << "nobody misses the action " << action->name;
  }
  for (std::size_t h = 0; h < kHooks; ++h) {
    bool answered = false;
    for (const PluginInfo* info : all_plugins()) {
      if (!answered_by(*info).test(h)) continue;
      answered = true;
      ++pairs;
      std::string killer = killer_of({static_cast<Hook>(h), std::string(info->name), {}});
      alive += killer.empty();
      EXPECT_NE(killer, "") << "nobody misses hook " << h << " of " << info->name;
      std::cout << "hook " << h << " of " << info->name << ": "
                << (killer.empty() ? "SURVIVES" : killer) << "\n";
    }
    if (!answered) continue;
    std::string killer = killer_of({static_cast<Hook>(h), {}, {}});
    std::cout << "hook " << h << " of all: " << killer << "\n";
    EXPECT_NE(killer, "") << "nobody misses hook " << h;
  }
  std::cout << alive << " of " << pairs << " single answers could be missing unnoticed\n";
}

}  // namespace
}  // namespace hekla::scheduler
