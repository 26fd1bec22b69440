// The state of one run: plain values, written to the records after each step and read back after a
// crash.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/value.h"

namespace hekla::pipelines::engine {

enum class NodeKind { dag, loop, container, importer, resolver, create_pvc, delete_pvc, resource };
std::string_view name_of(NodeKind kind);

enum class NodeState {
  waiting,   // not begun, or to be begun again
  checking,  // somebody looks whether the cache has its outputs
  pending,   // shall run: its pod shall exist
  running,   // its pod runs, or something of it does
  backoff,   // has failed and is tried again at retry_at
  succeeded,
  cached,
  skipped,  // its condition does not hold
  omitted,  // never begun, because of what happened before it
  failed,
  canceled,
};
std::string_view name_of(NodeState state);
bool is_final(NodeState state);
bool has_outputs(NodeState state);  // succeeded or cached

struct Node {
  std::string id;                // its path; "root" for the whole
  std::string task;              // the task's name in its DAG; of an iteration, the loop's
  std::string component;         // empty: the root
  std::optional<int> iteration;  // of a loop's member
  NodeKind kind = NodeKind::dag;
  NodeState state = NodeState::waiting;
  int attempt = 0;               // numbers its pods over all rounds
  int first_attempt = 0;         // of this round of the retry policy
  bool canceling = false;        // of a DAG: nothing new but exit-style tasks
  json::Object inputs, outputs;  // {parameterValues: {}, artifacts: {name: [artifact]}}
  std::string fingerprint;       // when the cache is asked or filled
  std::string error;
  std::optional<WallTime> created, started, finished, retry_at;

  json::Value to_json() const;
  static Result<Node> from_json(const json::Value& value);
};

// Facts about the run that templates may name.
struct RunFacts {
  std::string id, display_name, resource_name, pipeline_root;
  WallTime created, scheduled;
  std::string ns = {}, service_account = {};
};

struct Run {
  RunFacts facts;
  json::Object parameters;  // of the root
  std::map<std::string, Node> nodes;
  bool terminating = false;

  const Node* find(const std::string& id) const;
  NodeState state() const;  // the root's
};

// The task below the root that follows all others, of a Workflow with an exit handler.
inline constexpr std::string_view kExitTask = "onExit";

std::string child_id(const std::string& parent, std::string_view name);
std::string parent_id(const std::string& id);  // empty for the root

// The name of a container node's pod: "<run>-<task>-<attempt>", with a few characters of the node's
// path where it stands in a group; at most 63 bytes.
std::string step_pod_name(const Run& run, const Node& node);

}  // namespace hekla::pipelines::engine
