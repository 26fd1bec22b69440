// The steps of a run with what went into them and what came out, and the artifacts of all runs.
#include "json/parse.h"
#include "model/time.h"
#include "pipelines/api/call.h"
#include "pipelines/api/listing.h"
#include "pipelines/api/task_details.h"
#include "pipelines/store/run_records.h"

namespace hekla::pipelines::api {
namespace {

// {parameterValues, artifacts} as the API writes it.
json::Object data_json(const json::Object& data) {
  const json::Value value(data);
  json::Object made;
  if (const json::Object* all = json::object_at(value, {"parameterValues"}); all && !all->empty())
    made.emplace("parameters", *all);
  if (const json::Object* all = json::object_at(value, {"artifacts"}); all && !all->empty())
    made.emplace("artifacts", *all);
  return made;
}

// A pod was made for it, in this attempt.
bool has_pod(const engine::Node& node) {
  using engine::NodeState;
  if (node.kind != engine::NodeKind::container) return false;
  switch (node.state) {
    case NodeState::waiting:
    case NodeState::checking:
    case NodeState::cached:
    case NodeState::skipped:
    case NodeState::omitted:
      return false;
    default:
      return true;
  }
}

json::Value task_json(const engine::Run& run, const engine::Node& node) {
  json::Object task{{"task_id", run.facts.id + "/" + node.id},
                    {"run_id", run.facts.id},
                    {"name", node.task.empty() ? "root" : node.task},
                    {"type", engine::name_of(node.kind)},
                    {"state", api_state(node.state)},
                    {"reason", engine::name_of(node.state)}};
  if (const std::string parent = engine::parent_id(node.id); !parent.empty())
    task.emplace("parent_task_id", run.facts.id + "/" + parent);
  if (node.iteration) task.emplace("iteration", *node.iteration);
  if (json::Object inputs = data_json(node.inputs); !inputs.empty())
    task.emplace("inputs", std::move(inputs));
  if (json::Object outputs = data_json(node.outputs); !outputs.empty())
    task.emplace("outputs", std::move(outputs));
  const auto time = [&](const char* name, const std::optional<WallTime>& when) {
    if (when) task.emplace(name, model::format_rfc3339_nano(*when));
  };
  time("create_time", node.created);
  time("start_time", node.started);
  time("end_time", node.finished);
  if (!node.error.empty())
    task.emplace("error", json::Object{{"code", 13}, {"message", node.error}});
  if (!node.fingerprint.empty()) task.emplace("cache_fingerprint", node.fingerprint);
  if (has_pod(node)) {
    json::Array pods;
    engine::Node one = node;
    for (one.attempt = 1; one.attempt <= node.attempt; ++one.attempt)
      pods.emplace_back(engine::step_pod_name(run, one));
    task.emplace("pods", std::move(pods));  // the last one is this attempt's
  }
  return task;
}

constexpr const char* kColumns = "run_id, node_id, name, type, uri, metadata, created, position";

Result<json::Value> artifact_json(const records::Statement& row, int id, int at) {
  json::Value metadata = TRY(json::parse(row.text(at + 5)));
  return json::Object{{"artifact_id", row.text(id)},
                      {"run_id", row.text(at)},
                      {"task_id", row.text(at) + "/" + row.text(at + 1)},
                      {"name", row.text(at + 2)},
                      {"type", row.text(at + 3)},
                      {"uri", row.text(at + 4)},
                      {"metadata", std::move(metadata)},
                      {"created_at", time_text(row.integer(at + 6))}};
}

}  // namespace

Answer list_tasks(Call& call) {
  const std::string id(call.request.query.get("run_id"));
  if (id.empty()) return fail(Code::bad_request, "Invalid input error: tasks need a run_id");
  const store::RunRecord record = TRY(store::load_run(call.database, id));
  json::Array tasks;
  for (const auto& [node_id, node] : record.run.nodes) tasks.push_back(task_json(record.run, node));
  const std::size_t count = tasks.size();
  return json::Object{{"tasks", std::move(tasks)}, {"total_size", count}};
}

Answer list_artifacts(Call& call) {
  Listing listing{.table = "artifacts", .columns = kColumns, .member = "artifacts"};
  listing.fields = {{"artifact_id", "id"},  {"id", "id"},
                    {"run_id", "run_id"},   {"name", "name"},
                    {"type", "type"},       {"uri", "uri"},
                    {"task_id", "node_id"}, {"created_at", "created", true}};
  const std::string run(call.request.query.get("run_id"));
  if (!run.empty()) listing.where = {{"run_id", run}};
  listing.row_of = [](const records::Statement& row) { return artifact_json(row, 1, 2); };
  return list(call.database, call.request.query, listing);
}

Answer get_artifact(Call& call) {
  records::Statement* row = TRY(call.database.query(
      "SELECT id, " + std::string(kColumns) + " FROM artifacts WHERE id = ?1", {call.name()}));
  if (!TRY(row->step())) return fail(Code::not_found, "Artifact " + call.name() + " not found");
  return artifact_json(*row, 0, 1);
}

}  // namespace hekla::pipelines::api
