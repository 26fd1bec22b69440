#include "pipelines/engine/run.h"

#include <algorithm>
#include <array>

#include "base/crypto.h"
#include "model/time.h"

namespace hekla::pipelines::engine {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {
    "dag", "loop", "container", "importer", "resolver", "create-pvc", "delete-pvc", "resource"};
constexpr std::array<std::string_view, 11> kStates = {"waiting", "checking",  "pending", "running",
                                                      "backoff", "succeeded", "cached",  "skipped",
                                                      "omitted", "failed",    "canceled"};

template <class Enum, std::size_t N>
Result<Enum> from_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return fail(Code::internal, "a node has the unknown word " + std::string(name));
}

void put_time(json::Object& object, std::string_view name, const std::optional<WallTime>& time) {
  if (time) object.emplace(name, model::format_rfc3339_nano(*time));
}

Result<std::optional<WallTime>> time_at(const json::Value& value, std::string_view name) {
  const std::string_view text = json::string_at(value, {name});
  if (text.empty()) return std::nullopt;
  return TRY(model::parse_rfc3339(text));
}

}  // namespace

std::string_view name_of(NodeKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
std::string_view name_of(NodeState state) { return kStates[static_cast<std::size_t>(state)]; }
bool is_final(NodeState state) { return state >= NodeState::succeeded; }
bool has_outputs(NodeState state) {
  return state == NodeState::succeeded || state == NodeState::cached;
}

json::Value Node::to_json() const {
  json::Object made{{"id", id},
                    {"task", task},
                    {"component", component},
                    {"kind", name_of(kind)},
                    {"state", name_of(state)},
                    {"attempt", attempt},
                    {"firstAttempt", first_attempt},
                    {"inputs", inputs},
                    {"outputs", outputs}};
  if (iteration) made.emplace("iteration", *iteration);
  if (canceling) made.emplace("canceling", true);
  if (!fingerprint.empty()) made.emplace("fingerprint", fingerprint);
  if (!error.empty()) made.emplace("error", error);
  put_time(made, "created", created);
  put_time(made, "started", started);
  put_time(made, "finished", finished);
  put_time(made, "retryAt", retry_at);
  return made;
}

Result<Node> Node::from_json(const json::Value& value) {
  Node made;
  made.id = json::text_at(value, {"id"});
  made.task = json::text_at(value, {"task"});
  made.component = json::text_at(value, {"component"});
  made.kind = TRY(from_name<NodeKind>(kKinds, json::string_at(value, {"kind"})));
  made.state = TRY(from_name<NodeState>(kStates, json::string_at(value, {"state"})));
  made.attempt = static_cast<int>(json::int_at(value, {"attempt"}));
  made.first_attempt = static_cast<int>(json::int_at(value, {"firstAttempt"}));
  if (json::find(value, "iteration"))
    made.iteration = static_cast<int>(json::int_at(value, {"iteration"}));
  made.canceling = json::bool_at(value, {"canceling"});
  if (const json::Object* inputs = json::object_at(value, {"inputs"})) made.inputs = *inputs;
  if (const json::Object* outputs = json::object_at(value, {"outputs"})) made.outputs = *outputs;
  made.fingerprint = json::text_at(value, {"fingerprint"});
  made.error = json::text_at(value, {"error"});
  made.created = TRY(time_at(value, "created"));
  made.started = TRY(time_at(value, "started"));
  made.finished = TRY(time_at(value, "finished"));
  made.retry_at = TRY(time_at(value, "retryAt"));
  return made;
}

const Node* Run::find(const std::string& id) const {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

NodeState Run::state() const {
  const Node* root = find("root");
  return root ? root->state : NodeState::waiting;
}

std::string child_id(const std::string& parent, std::string_view name) {
  return parent + "/" + std::string(name);
}

std::string parent_id(const std::string& id) {
  const std::size_t at = id.rfind('/');
  return at == std::string::npos ? std::string() : id.substr(0, at);
}

std::string step_pod_name(const Run& run, const Node& node) {
  std::string task;
  for (const char c : node.task) task += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  const bool nested = parent_id(node.id) != "root";
  const std::string tail =
      (nested ? "-" + sha256_hex(node.id).substr(0, 6) : "") + "-" + std::to_string(node.attempt);
  std::string head = run.facts.resource_name + "-" + task;
  head.resize(std::min<std::size_t>(head.size(), 63 - tail.size()));
  return head + tail;
}

}  // namespace hekla::pipelines::engine
