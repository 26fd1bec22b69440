#include "json/parse.h"
#include "model/time.h"
#include "pipelines/api/call.h"
#include "pipelines/api/listing.h"
#include "pipelines/api/new_run.h"
#include "pipelines/api/task_details.h"
#include "pipelines/store/run_records.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr const char* kColumns =
    "experiment_id, name, description, storage, pipeline_id, version_id, spec, parameters,"
    " pipeline_root, service_account, created, scheduled, finished, state, error,"
    " recurring_run_id, history";

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

void put(json::Object& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object.emplace(name, text);
}

Result<json::Value> run_json(const records::Statement& row, int id, int at) {
  json::Object made{{"experiment_id", row.text(at)},
                    {"run_id", row.text(id)},
                    {"display_name", row.text(at + 1)},
                    {"storage_state", row.text(at + 3)}};
  put(made, "description", row.text(at + 2));
  if (std::string pipeline = row.text(at + 4); !pipeline.empty())
    made.emplace(
        "pipeline_version_reference",
        json::Object{{"pipeline_id", pipeline}, {"pipeline_version_id", row.text(at + 5)}});
  else
    made.emplace("pipeline_spec", TRY(json::parse(row.text(at + 6))));
  json::Object config;
  json::Value parameters = TRY(json::parse(row.text(at + 7)));
  if (!parameters.as_object().empty()) config.emplace("parameters", std::move(parameters));
  if (std::string root = row.text(at + 8); root != kDefaultRoot) put(config, "pipeline_root", root);
  if (!config.empty()) made.emplace("runtime_config", std::move(config));
  put(made, "service_account", row.text(at + 9));
  made.emplace("created_at", time_text(row.integer(at + 10)));
  made.emplace("scheduled_at", time_text(row.integer(at + 11)));
  made.emplace("finished_at", time_text(row.integer(at + 12)));
  made.emplace("state", row.text(at + 13));
  if (std::string error = row.text(at + 14); !error.empty())
    made.emplace("error", json::Object{{"code", 13}, {"message", error}});
  put(made, "recurring_run_id", row.text(at + 15));
  made.emplace("state_history", TRY(json::parse(row.text(at + 16))));
  return made;
}

Result<json::Value> read_run(Call& call, const std::string& id, bool details) {
  json::Value made;
  {
    records::Statement* row = TRY(call.database.query(
        "SELECT id, " + std::string(kColumns) + " FROM runs WHERE id = ?1", {id}));
    if (!TRY(row->step())) return fail(Code::not_found, "Run " + id + " not found");
    made = TRY(run_json(*row, 0, 1));
  }
  if (!details) return made;
  const store::RunRecord record = TRY(store::load_run(call.database, id));
  if (json::Value tasks = task_details(record.run); !tasks.get_array().empty())
    made.get_object().emplace("run_details", json::Object{{"task_details", std::move(tasks)}});
  return made;
}

Answer terminate_run(Call& call) {
  const store::RunRecord record = TRY(store::load_run(call.database, call.name()));
  if (record.state != "PENDING" && record.state != "RUNNING" && record.state != "PAUSED")
    return invalid("Failed to terminate run " + call.name() + ": it has the state " + record.state);
  TRY(call.database.run("UPDATE runs SET terminating = 1 WHERE id = ?1", {call.name()}));
  TRY(store::set_state(call.database, call.name(), "CANCELING", "", call.now));
  call.touched.push_back(call.name());
  return json::Object{};
}

Answer retry_run(Call& call) {
  store::RunRecord record = TRY(store::load_run(call.database, call.name()));
  if (record.state != "FAILED" && record.state != "CANCELED")
    return invalid("Failed to retry run " + call.name() +
                   ": only failed and cancelled runs can be retried, it has the state " +
                   record.state);
  const std::set<std::string> changed = retried_nodes(record.run);
  TRY(store::save_nodes(call.database, record.run, changed));
  TRY(call.database.run("UPDATE runs SET terminating = 0 WHERE id = ?1", {call.name()}));
  TRY(store::set_state(call.database, call.name(), "RUNNING", "", call.now));
  call.touched.push_back(call.name());
  return json::Object{};
}

}  // namespace

Answer list_runs(Call& call) {
  Listing listing{.table = "runs", .columns = kColumns, .member = "runs"};
  listing.fields = {{"run_id", "id"},
                    {"id", "id"},
                    {"display_name", "name"},
                    {"name", "name"},
                    {"created_at", "created", true},
                    {"finished_at", "finished", true},
                    {"scheduled_at", "scheduled", true},
                    {"description", "description"},
                    {"storage_state", "storage", false, stored_state},
                    {"status", "state", false, stored_state},
                    {"state", "state", false, stored_state},
                    {"namespace", "namespace"},
                    {"experiment_id", "experiment_id"},
                    {"recurring_run_id", "recurring_run_id"},
                    {"pipeline_version_id", "version_id"}};
  const std::string experiment(call.request.query.get("experiment_id"));
  if (!experiment.empty()) listing.where = {{"experiment_id", experiment}};
  listing.row_of = [](const records::Statement& row) { return run_json(row, 1, 2); };
  return list(call.database, call.request.query, listing);
}

Answer create_run(Call& call) {
  const std::string id = TRY(insert_run(call, TRY(call.body()), {.id = uuid(call.rng)}));
  return read_run(call, id, false);
}

Answer get_run(Call& call) { return read_run(call, call.name(), true); }

Answer delete_run(Call& call) {
  TRY(read_run(call, call.name(), false));
  TRY(call.database.run("DELETE FROM runs WHERE id = ?1", {call.name()}));
  call.touched.push_back(call.name());
  return json::Object{};
}

Answer act_on_run(Call& call) {
  if (call.verb == "terminate") return terminate_run(call);
  if (call.verb == "retry") return retry_run(call);
  if (call.verb != "archive" && call.verb != "unarchive")
    return fail(Code::not_found, "runs have no verb " + call.verb);
  TRY(read_run(call, call.name(), false));
  TRY(call.database.run(
      "UPDATE runs SET storage = ?2 WHERE id = ?1",
      {call.name(), std::string(call.verb == "archive" ? "ARCHIVED" : "AVAILABLE")}));
  return json::Object{};
}

}  // namespace hekla::pipelines::api
