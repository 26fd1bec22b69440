#include <algorithm>

#include "base/crypto.h"
#include "json/parse.h"
#include "pipelines/api/call.h"
#include "pipelines/api/listing.h"
#include "pipelines/api/new_run.h"
#include "pipelines/api/recurring_runs.h"
#include "pipelines/schedule/macros.h"
#include "pipelines/schedule/schedule.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr std::int64_t kConcurrentMost = 10;
constexpr int kRunsAtOnce = 100;  // of one recurring run and round, when it catches up
constexpr const char* kColumns =
    "name, description, experiment_id, pipeline_id, version_id, spec, parameters, pipeline_root,"
    " service_account, max_concurrency, schedule, no_catchup, enabled, created, updated, error";

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

void put(json::Object& object, std::string_view name, const std::string& text) {
  if (!text.empty()) object.emplace(name, text);
}

// The description that its runs are made from, which is also the first part of its own.
Result<json::Object> described(const records::Statement& row, int at) {
  json::Object made{{"display_name", row.text(at)}, {"experiment_id", row.text(at + 2)}};
  put(made, "description", row.text(at + 1));
  if (std::string pipeline = row.text(at + 3); !pipeline.empty()) {
    json::Object reference{{"pipeline_id", pipeline}};
    put(reference, "pipeline_version_id", row.text(at + 4));
    made.emplace("pipeline_version_reference", std::move(reference));
  } else {
    made.emplace("pipeline_spec", TRY(json::parse(row.text(at + 5))));
  }
  json::Object config;
  json::Value parameters = TRY(json::parse(row.text(at + 6)));
  if (!parameters.as_object().empty()) config.emplace("parameters", std::move(parameters));
  put(config, "pipeline_root", row.text(at + 7));
  if (!config.empty()) made.emplace("runtime_config", std::move(config));
  put(made, "service_account", row.text(at + 8));
  return made;
}

Result<json::Value> recurring_json(const records::Statement& row, int id, int at) {
  json::Object made = TRY(described(row, at));
  made.emplace("recurring_run_id", row.text(id));
  made.emplace("max_concurrency", std::to_string(row.integer(at + 9)));
  made.emplace("trigger", TRY(json::parse(row.text(at + 10))));
  if (row.integer(at + 11)) made.emplace("no_catchup", true);
  const bool enabled = row.integer(at + 12) != 0;
  made.emplace("mode", enabled ? "ENABLE" : "DISABLE");
  made.emplace("status", enabled ? "ENABLED" : "DISABLED");
  made.emplace("created_at", time_text(row.integer(at + 13)));
  made.emplace("updated_at", time_text(row.integer(at + 14)));
  if (std::string error = row.text(at + 15); !error.empty())
    made.emplace("error", json::Object{{"code", 13}, {"message", error}});
  return made;
}

Result<json::Value> read_recurring(Call& call, const std::string& id) {
  records::Statement* row = TRY(call.database.query(
      "SELECT id, " + std::string(kColumns) + " FROM recurring_runs WHERE id = ?1", {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "RecurringRun " + id + " not found");
  return recurring_json(*row, 0, 1);
}

// One recurring run that is due.
struct Due {
  std::string id;
  json::Object body;
  json::Value trigger;
  bool no_catchup = false;
  std::int64_t created = 0, last = 0, index = 0, free = 0;
};

Result<std::vector<Due>> due_runs(Call& call) {
  std::vector<Due> all;
  {
    records::Statement* row = TRY(call.database.query(
        "SELECT id, last, number, " + std::string(kColumns) +
            " FROM recurring_runs WHERE enabled = 1 AND next > 0 AND next <= ?1",
        {store::to_millis(call.now)}));
    while (TRY(row->step()))
      all.push_back({row->text(0), TRY(described(*row, 3)), TRY(json::parse(row->text(13))),
                     row->integer(14) != 0, row->integer(16), row->integer(1), row->integer(2),
                     row->integer(12)});
  }
  for (Due& due : all) {
    records::Statement* row = TRY(call.database.query(
        "SELECT COUNT(*) FROM runs WHERE recurring_run_id = ?1 AND open = 1", {due.id}));
    TRY(row->step());
    due.free -= row->integer(0);
  }
  return all;
}

// The same for the same occasion, so that nothing is run twice.
std::string run_id_of(const Due& due, const std::string& name) {
  const std::string hex = sha256_hex(due.id + "/" + name);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-5" + hex.substr(13, 3) + "-a" +
         hex.substr(17, 3) + "-" + hex.substr(20, 12);
}

Result<void> make_run(Call& call, const Due& due, WallTime scheduled, std::int64_t index) {
  const std::int64_t at = store::to_millis(scheduled);
  json::Value body(due.body);
  const std::string name = std::string(json::string_at(body, {"display_name"})) + "-" +
                           std::to_string(index) + "-" + std::to_string(at / 1000);
  const std::string id = run_id_of(due, name);
  body.get_object()["display_name"] = name;
  if (const json::Value* given = json::find_path(body, {"runtime_config", "parameters"}))
    json::at_path(body, {"runtime_config", "parameters"}) =
        schedule::filled(json::Value(*given), {scheduled, call.now, index, id});
  TRY(insert_run(call, body, {.id = id, .recurring_run_id = due.id, .scheduled = at}));
  return {};
}

// Makes the runs of `due` as far as they may run at once, and writes down where it stands.
Result<void> catch_up(Call& call, Due due) {
  const schedule::Schedule schedule = TRY(schedule::Schedule::parse(due.trigger));
  const auto following = [&]() {
    return schedule.next(store::from_millis(due.last ? due.last : due.created), due.last == 0);
  };
  std::optional<WallTime> next = following();
  std::string error;
  for (int made = 0; next && *next <= call.now && due.free > 0 && made < kRunsAtOnce; ++made) {
    due.last = store::to_millis(*next);
    const WallTime scheduled = *next;
    next = following();
    if (due.no_catchup && next && *next <= call.now) continue;
    Result<void> run = make_run(call, due, scheduled, ++due.index);
    if (!run && run.error().code != Code::already_exists) error = run.error().message;
    --due.free;
  }
  return call.database.run(
      "UPDATE recurring_runs SET last = ?2, next = ?3, number = ?4, error = ?5 WHERE id = ?1",
      {due.id, due.last, next ? store::to_millis(*next) : std::int64_t{0}, due.index, error});
}

}  // namespace

Answer list_recurring(Call& call) {
  Listing listing{.table = "recurring_runs", .columns = kColumns, .member = "recurringRuns"};
  listing.fields = {{"recurring_run_id", "id"},      {"id", "id"},
                    {"display_name", "name"},        {"name", "name"},
                    {"created_at", "created", true}, {"updated_at", "updated", true},
                    {"description", "description"},  {"experiment_id", "experiment_id"}};
  const std::string experiment(call.request.query.get("experiment_id"));
  if (!experiment.empty()) listing.where = {{"experiment_id", experiment}};
  listing.row_of = [](const records::Statement& row) { return recurring_json(row, 1, 2); };
  return list(call.database, call.request.query, listing);
}

Answer create_recurring(Call& call) {
  const json::Value body = TRY(call.body());
  ir::Fields fields(&body, "RecurringRun");
  const std::string name = fields.text("displayName"), description = fields.text("description");
  const std::string account = fields.text("serviceAccount"), mode = fields.text("mode");
  const std::string experiment = fields.text("experimentId");
  const std::int64_t concurrent = fields.integer("maxConcurrency");
  const bool no_catchup = fields.boolean("noCatchup");
  const json::Value* trigger = fields.take("trigger");
  // Without a version the newest of each time is meant.
  const bool newest =
      json::find(body, "pipeline_version_reference") != nullptr &&
      json::text_at(body, {"pipeline_version_reference", "pipeline_version_id"}).empty();
  const Source source = TRY(source_of(call, fields));
  ir::Fields config(fields.take("runtimeConfig"), "runtime_config");
  const json::Object* given = config.object("parameters");
  const std::string root = config.text("pipelineRoot");
  TRY(config.finish());
  for (const char* ignored : {"recurringRunId", "createdAt", "updatedAt", "status", "error",
                              "namespace", "pluginsInput", "pipelineVersionId"})
    fields.take(ignored);
  TRY(fields.finish());
  if (name.empty()) return invalid("RecurringRun's display_name cannot be empty");
  if (trigger == nullptr) return invalid("a recurring run needs a trigger");
  const schedule::Schedule schedule = TRY(schedule::Schedule::parse(*trigger));
  const ir::Pipeline pipeline = TRY(runnable(source));
  const json::Value parameters(given ? given_to(pipeline, *given) : json::Object{});
  if (!schedule::has_macros(parameters))
    TRY(ir::check_parameters(pipeline, parameters.get_object()));
  const std::string in = TRY(checked_experiment(call, experiment));
  const std::string id = uuid(call.rng);
  const std::int64_t now = store::to_millis(call.now);
  const std::optional<WallTime> next = schedule.next(call.now, true);
  TRY(call.database.run(
      "INSERT INTO recurring_runs (id, name, description, experiment_id, pipeline_id, version_id,"
      " spec, parameters, pipeline_root, service_account, max_concurrency, schedule, no_catchup,"
      " enabled, created, updated, next) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
      " ?13, ?14, ?15, ?15, ?16)",
      {id, name, description, in, source.pipeline_id, newest ? std::string() : source.version_id,
       source.pipeline_id.empty() ? json::serialize(source.package.to_json()) : std::string(),
       json::serialize(parameters), root, account,
       std::clamp<std::int64_t>(concurrent, 1, kConcurrentMost), json::serialize(schedule.json()),
       std::int64_t{no_catchup}, std::int64_t{mode != "DISABLE"}, now,
       next ? store::to_millis(*next) : std::int64_t{0}}));
  call.rescheduled = true;
  return read_recurring(call, id);
}

Answer get_recurring(Call& call) { return read_recurring(call, call.name()); }

Answer delete_recurring(Call& call) {
  TRY(read_recurring(call, call.name()));
  TRY(call.database.run("DELETE FROM recurring_runs WHERE id = ?1", {call.name()}));
  return json::Object{};
}

Answer act_on_recurring(Call& call) {
  if (call.verb != "enable" && call.verb != "disable")
    return fail(Code::not_found, "recurring runs have no verb " + call.verb);
  const json::Value found = TRY(read_recurring(call, call.name()));
  const bool enable = call.verb == "enable";
  if ((json::string_at(found, {"status"}) == "ENABLED") == enable) return json::Object{};
  const std::int64_t now = store::to_millis(call.now);
  TRY(call.database.run("UPDATE recurring_runs SET enabled = ?2, updated = ?3 WHERE id = ?1",
                        {call.name(), std::int64_t{enable}, now}));
  if (!enable) return json::Object{};
  // Times that have passed meanwhile are not made up for.
  const schedule::Schedule schedule = TRY(schedule::Schedule::parse(*json::find(found, "trigger")));
  const std::optional<WallTime> next = schedule.next(call.now, false);
  TRY(call.database.run("UPDATE recurring_runs SET last = ?2, next = ?3 WHERE id = ?1",
                        {call.name(), now, next ? store::to_millis(*next) : std::int64_t{0}}));
  call.rescheduled = true;
  return json::Object{};
}

Result<std::int64_t> run_what_is_due(Call& call) {
  for (Due& due : TRY(due_runs(call)))
    if (due.free > 0) TRY(catch_up(call, std::move(due)));
  records::Statement* row = TRY(call.database.query(
      "SELECT COALESCE(MIN(next), 0) FROM recurring_runs WHERE enabled = 1 AND next > 0", {}));
  TRY(row->step());
  return row->integer(0);
}

}  // namespace hekla::pipelines::api
