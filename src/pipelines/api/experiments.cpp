#include "pipelines/api/call.h"
#include "pipelines/api/listing.h"
#include "pipelines/ir/fields.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr std::size_t kNameMax = 128;
constexpr const char* kDefault = "Default";
constexpr const char* kColumns = "name, description, namespace, created, last_run, storage";

// Columns begin at `at`; the id stands before them.
json::Value experiment_json(const records::Statement& row, int id, int at) {
  json::Object made{{"experiment_id", row.text(id)}, {"display_name", row.text(at)}};
  if (std::string text = row.text(at + 1); !text.empty()) made.emplace("description", text);
  made.emplace("created_at", time_text(row.integer(at + 3)));
  if (std::string text = row.text(at + 2); !text.empty()) made.emplace("namespace", text);
  made.emplace("storage_state", row.text(at + 5));
  made.emplace("last_run_created_at", time_text(row.integer(at + 4)));
  return made;
}

Result<json::Value> read_experiment(Call& call, const std::string& id) {
  records::Statement* row = TRY(call.database.query(
      "SELECT id, " + std::string(kColumns) + " FROM experiments WHERE id = ?1", {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "Experiment " + id + " not found");
  return experiment_json(*row, 0, 1);
}

Result<std::string> insert_experiment(Call& call, const std::string& name,
                                      const std::string& description) {
  std::string id = uuid(call.rng);
  Result<void> made = call.database.run(
      "INSERT INTO experiments (id, name, description, namespace, created, storage)"
      " VALUES (?1, ?2, ?3, '', ?4, 'AVAILABLE')",
      {id, name, description, store::to_millis(call.now)});
  if (!made && made.error().code == Code::already_exists)
    return fail(Code::already_exists,
                "Already exist error: Failed to create a new experiment. The name " + name +
                    " already exist. Please specify a new name");
  TRY(std::move(made));
  return id;
}

}  // namespace

Answer list_experiments(Call& call) {
  Listing listing{.table = "experiments", .columns = kColumns, .member = "experiments"};
  listing.fields = {{"experiment_id", "id"},
                    {"id", "id"},
                    {"display_name", "name"},
                    {"name", "name"},
                    {"created_at", "created", true},
                    {"last_run_created_at", "last_run", true},
                    {"description", "description"},
                    {"namespace", "namespace"},
                    {"storage_state", "storage", false, stored_state}};
  listing.row_of = [](const records::Statement& row) -> Result<json::Value> {
    return experiment_json(row, 1, 2);
  };
  return list(call.database, call.request.query, listing);
}

Answer create_experiment(Call& call) {
  const json::Value body = TRY(call.body());
  ir::Fields fields(&body, "Experiment");
  const std::string name = fields.text("displayName"), description = fields.text("description");
  for (const char* ignored :
       {"namespace", "experimentId", "createdAt", "storageState", "lastRunCreatedAt"})
    fields.take(ignored);
  TRY(fields.finish());
  if (name.empty())
    return fail(Code::bad_request, "Invalid input error: Experiment's name cannot be empty");
  if (name.size() > kNameMax)
    return fail(Code::bad_request, "Invalid input error: Experiment's name is longer than " +
                                       std::to_string(kNameMax) + " characters");
  return read_experiment(call, TRY(insert_experiment(call, name, description)));
}

Answer get_experiment(Call& call) { return read_experiment(call, call.name()); }

Answer delete_experiment(Call& call) {
  const json::Value found = TRY(read_experiment(call, call.name()));
  if (json::string_at(found, {"display_name"}) == kDefault)
    return fail(Code::conflict, "Bad request: the default experiment cannot be deleted");
  TRY(call.database.run("DELETE FROM experiments WHERE id = ?1", {call.name()}));
  return json::Object{};
}

Answer act_on_experiment(Call& call) {
  TRY(read_experiment(call, call.name()));
  const bool archive = call.verb == "archive";
  if (!archive && call.verb != "unarchive")
    return fail(Code::not_found, "experiments have no verb " + call.verb);
  TRY(call.database.run("UPDATE experiments SET storage = ?2 WHERE id = ?1",
                        {call.name(), std::string(archive ? "ARCHIVED" : "AVAILABLE")}));
  if (archive)
    TRY(call.database.run("UPDATE runs SET storage = 'ARCHIVED' WHERE experiment_id = ?1",
                          {call.name()}));
  if (archive)
    TRY(call.database.run("UPDATE recurring_runs SET enabled = 0 WHERE experiment_id = ?1",
                          {call.name()}));
  return json::Object{};
}

Result<std::string> default_experiment(Call& call) {
  records::Statement* row = TRY(call.database.query(
      "SELECT id FROM experiments WHERE namespace = '' AND name = ?1", {std::string(kDefault)}));
  if (TRY(row->step())) return row->text(0);
  return insert_experiment(
      call, kDefault, "All runs created without specifying an experiment will be grouped here.");
}

}  // namespace hekla::pipelines::api
