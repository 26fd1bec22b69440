#include "pipelines/store/run_records.h"

#include "json/parse.h"
#include "model/time.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::store {
namespace {

bool is_final_state(std::string_view state) {
  return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELED" || state == "SKIPPED";
}

Result<json::Object> object_in(const std::string& text) {
  json::Value value = TRY(json::parse(text));
  if (!value.is_object()) return fail(Code::internal, "records: an object is wanted");
  return value.get_object();
}

// A step's artifacts, to be found without its run. A cached step has made nothing.
Result<void> save_artifacts(records::Database& database, const std::string& run,
                            const engine::Node& node) {
  const bool makes =
      node.kind == engine::NodeKind::container || node.kind == engine::NodeKind::importer;
  if (!makes || node.state != engine::NodeState::succeeded) return {};
  const json::Value outputs(node.outputs);
  const json::Object* all = json::object_at(outputs, {"artifacts"});
  if (all == nullptr) return {};
  for (const auto& member : *all) {
    if (!member.value().is_array()) continue;
    std::int64_t position = 0;
    for (const json::Value& one : member.value().get_array()) {
      const json::Object* metadata = json::object_at(one, {"metadata"});
      TRY(database.run(
          "INSERT INTO artifacts (run_id, node_id, name, position, type, uri, metadata, created)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
          {run, node.id, std::string(member.key()), position++,
           json::text_at(one, {"type", "schemaTitle"}), json::text_at(one, {"uri"}),
           metadata ? json::serialize(json::Value(*metadata)) : "{}",
           node.finished ? to_millis(*node.finished) : 0}));
    }
  }
  return {};
}

}  // namespace

Result<RunRecord> load_run(records::Database& database, const std::string& id) {
  records::Statement* row = TRY(database.query(
      "SELECT name, resource_name, pipeline_root, created, scheduled, parameters, terminating,"
      " spec, namespace, service_account, state, queue FROM runs WHERE id = ?1",
      {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "Run " + id + " not found");
  RunRecord made;
  made.run.facts = {id,
                    row->text(0),
                    row->text(1),
                    row->text(2),
                    from_millis(row->integer(3)),
                    from_millis(row->integer(4)),
                    row->text(8),
                    row->text(9)};
  made.run.parameters = TRY(object_in(row->text(5)));
  made.run.terminating = row->integer(6) != 0;
  made.package = TRY(json::parse(row->text(7)));
  made.ns = row->text(8);
  made.service_account = row->text(9);
  made.state = row->text(10);
  made.queue = row->text(11);
  records::Statement* nodes = TRY(database.query("SELECT body FROM nodes WHERE run_id = ?1", {id}));
  while (TRY(nodes->step())) {
    engine::Node node = TRY(engine::Node::from_json(TRY(json::parse(nodes->text(0)))));
    std::string node_id = node.id;
    made.run.nodes.emplace(std::move(node_id), std::move(node));
  }
  return made;
}

Result<std::vector<std::string>> open_runs(records::Database& database) {
  records::Statement* rows = TRY(database.query("SELECT id FROM runs WHERE open = 1", {}));
  std::vector<std::string> ids;
  while (TRY(rows->step())) ids.push_back(rows->text(0));
  return ids;
}

Result<void> save_nodes(records::Database& database, const engine::Run& run,
                        const std::set<std::string>& changed) {
  for (const std::string& id : changed) {
    const engine::Node* node = run.find(id);
    if (node == nullptr) continue;
    TRY(
        database.run("INSERT INTO nodes (run_id, node_id, body) VALUES (?1, ?2, ?3)"
                     " ON CONFLICT (run_id, node_id) DO UPDATE SET body = excluded.body",
                     {run.facts.id, id, json::serialize(node->to_json())}));
    TRY(save_artifacts(database, run.facts.id, *node));
  }
  return {};
}

Result<void> set_state(records::Database& database, const std::string& id, std::string_view state,
                       const std::string& error, WallTime now) {
  records::Statement* row =
      TRY(database.query("SELECT state, history FROM runs WHERE id = ?1", {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "Run " + id + " not found");
  if (row->text(0) == state) return {};
  json::Value history = TRY(json::parse(row->text(1)));
  json::Object entry{{"update_time", model::format_rfc3339(now)}, {"state", state}};
  if (!error.empty()) entry.emplace("error", json::Object{{"message", error}});
  history.as_array().push_back(std::move(entry));
  const bool final = is_final_state(state);
  return database.run(
      "UPDATE runs SET state = ?2, error = ?3, history = ?4, open = ?5, finished = ?6 WHERE id = "
      "?1",
      {id, std::string(state), error, json::serialize(history), std::int64_t{final ? 0 : 1},
       final ? to_millis(now) : std::int64_t{0}});
}

Result<std::optional<json::Object>> cached_outputs(records::Database& database,
                                                   const std::string& fingerprint,
                                                   const std::string& pipeline,
                                                   const std::string& ns) {
  records::Statement* row = TRY(database.query(
      "SELECT outputs FROM cache WHERE fingerprint = ?1 AND pipeline = ?2 AND namespace = ?3"
      " ORDER BY created DESC LIMIT 1",
      {fingerprint, pipeline, ns}));
  if (!TRY(row->step())) return std::nullopt;
  return TRY(object_in(row->text(0)));
}

Result<void> remember_outputs(records::Database& database, const engine::Run& run,
                              const engine::Node& node, const std::string& pipeline,
                              const std::string& ns, WallTime now) {
  return database.run(
      "INSERT INTO cache (fingerprint, pipeline, namespace, run_id, node_id, outputs, created)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      {node.fingerprint, pipeline, ns, run.facts.id, node.id,
       json::serialize(json::Value(node.outputs)), to_millis(now)});
}

}  // namespace hekla::pipelines::store
