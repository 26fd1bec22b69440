#include "pipelines/api/v1beta1/convert.h"

#include "json/parse.h"
#include "pipelines/argo/nodes.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/ir/fields.h"
#include "pipelines/ir/text.h"
#include "pipelines/store/run_records.h"

namespace hekla::pipelines::api::v1beta1 {
namespace {

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

// Members of the same name and meaning.
json::Object copied(const json::Value& from, std::initializer_list<const char*> names) {
  json::Object made;
  for (const char* name : names)
    if (const json::Value* value = json::find(from, name)) made.emplace(name, *value);
  return made;
}

void put(json::Object& object, std::string_view name, std::string text) {
  if (!text.empty()) object.emplace(name, std::move(text));
}

json::Object reference(const char* type, const std::string& id, const std::string& name,
                       const char* relationship) {
  json::Object made{{"key", json::Object{{"type", type}, {"id", id}}}};
  put(made, "name", name);
  made.emplace("relationship", relationship);
  return made;
}

Result<std::string> name_of(Call& call, const char* table, const std::string& id) {
  records::Statement* row =
      TRY(call.database.query("SELECT name FROM " + std::string(table) + " WHERE id = ?1", {id}));
  return TRY(row->step()) ? row->text(0) : std::string();
}

// Parameters of a package with their defaults as texts.
json::Array parameters_of(const json::Value& spec) {
  json::Array made;
  const auto add = [&](std::string name, const json::Value* value) {
    json::Object one{{"name", std::move(name)}};
    if (value) one.emplace("value", ir::text_of(*value));
    made.push_back(std::move(one));
  };
  if (const json::Array* list = json::array_at(spec, {"spec", "arguments", "parameters"}))
    for (const json::Value& one : *list)
      add(json::text_at(one, {"name"}), json::find(one, "value"));
  for (const char* outer : {"", "pipeline_spec"}) {
    const json::Value* inner = *outer ? json::find(spec, outer) : &spec;
    if (inner == nullptr) continue;
    if (const json::Object* all =
            json::object_at(*inner, {"root", "inputDefinitions", "parameters"}))
      for (const auto& member : *all)
        add(std::string(member.key()), json::find(member.value(), "defaultValue"));
  }
  return made;
}

std::string status_of(std::string_view state) {
  if (state == "PENDING") return "Pending";
  if (state == "CANCELING") return "Terminating";
  if (state == "SKIPPED") return "Skipped";
  return std::string(argo::workflow_phase(state));
}

std::string storage_of(const json::Value& from) {
  return "STORAGESTATE_" + json::text_at(from, {"storage_state"});
}

// Members that runs and jobs share: pipeline_spec and references.
Result<void> add_origin(Call& call, const json::Value& from, const json::Value& spec,
                        const json::Value& parameters, json::Object& made) {
  json::Object shown;
  const std::string pipeline = json::text_at(from, {"pipeline_version_reference", "pipeline_id"});
  if (!pipeline.empty()) {
    shown.emplace("pipeline_id", pipeline);
    put(shown, "pipeline_name", TRY(name_of(call, "pipelines", pipeline)));
  }
  const bool argo = json::string_at(spec, {"kind"}) == "Workflow";
  if (!spec.is_null())
    shown.emplace(argo ? "workflow_manifest" : "pipeline_manifest", json::serialize(spec));
  json::Array list;
  if (parameters.is_object())
    for (const auto& member : parameters.get_object())
      list.push_back(json::Object{{"name", member.key()}, {"value", ir::text_of(member.value())}});
  if (!list.empty()) shown.emplace("parameters", std::move(list));
  made.emplace("pipeline_spec", std::move(shown));
  json::Array references;
  const std::string experiment = json::text_at(from, {"experiment_id"});
  references.push_back(
      reference("EXPERIMENT", experiment, TRY(name_of(call, "experiments", experiment)), "OWNER"));
  const std::string version =
      json::text_at(from, {"pipeline_version_reference", "pipeline_version_id"});
  if (!version.empty())
    references.push_back(
        reference("PIPELINE_VERSION", version, TRY(name_of(call, "versions", version)), "CREATOR"));
  made.emplace("resource_references", std::move(references));
  return {};
}

// The default version of a pipeline: the chosen one, else the newest.
Result<std::string> default_version(Call& call, const std::string& pipeline) {
  records::Statement* row = TRY(call.database.query(
      "SELECT versions.id FROM versions JOIN pipelines ON pipelines.id = pipeline_id"
      " WHERE pipeline_id = ?1 ORDER BY versions.id = pipelines.default_version DESC,"
      " versions.created DESC, versions.rowid DESC LIMIT 1",
      {pipeline}));
  return TRY(row->step()) ? row->text(0) : std::string();
}

Result<json::Object> parameters_in(const json::Value& spec) {
  json::Object made;
  if (const json::Array* list = json::array_at(spec, {"parameters"}))
    for (const json::Value& one : *list) {
      const json::Value* value = json::find(one, "value");
      made.emplace(json::text_at(one, {"name"}), value ? ir::text_of(*value) : std::string());
    }
  // SDK 1's own way to give parameters to a pipeline of version 2.
  if (const json::Object* typed = json::object_at(spec, {"runtime_config", "parameters"}))
    for (const auto& member : *typed) {
      json::Value value = member.value();
      if (value.is_object())
        for (const auto& inner : member.value().get_object()) value = inner.value();
      made.insert_or_assign(member.key(), std::move(value));
    }
  return made;
}

}  // namespace

json::Value experiment(const json::Value& from) {
  json::Object made = copied(from, {"description", "created_at"});
  made.emplace("id", json::text_at(from, {"experiment_id"}));
  made.emplace("name", json::text_at(from, {"display_name"}));
  made.emplace("storage_state", storage_of(from));
  return made;
}

Answer version(Call& call, const json::Value& from) {
  json::Object made =
      copied(from, {"name", "created_at", "code_source_url", "package_url", "description"});
  made.emplace("id", json::text_at(from, {"pipeline_version_id"}));
  const std::string pipeline = json::text_at(from, {"pipeline_id"});
  made.emplace("resource_references",
               json::Array{reference("PIPELINE", pipeline,
                                     TRY(name_of(call, "pipelines", pipeline)), "OWNER")});
  if (const json::Value* spec = json::find(from, "pipeline_spec"))
    if (json::Array parameters = parameters_of(*spec); !parameters.empty())
      made.emplace("parameters", std::move(parameters));
  return made;
}

Answer pipeline(Call& call, const json::Value& from) {
  json::Object made = copied(from, {"name", "created_at", "description"});
  const std::string id = json::text_at(from, {"pipeline_id"});
  made.emplace("id", id);
  const std::string newest = TRY(default_version(call, id));
  if (newest.empty()) return made;
  Call inner{call.request, call.database, call.now, call.rng, {id, newest}, {}};
  json::Value shown = TRY(version(call, TRY(get_version(inner))));
  if (const json::Value* parameters = json::find(shown, "parameters"))
    made.emplace("parameters", *parameters);
  made.emplace("default_version", std::move(shown));
  return made;
}

Answer run(Call& call, const json::Value& from) {
  json::Object made =
      copied(from, {"description", "service_account", "created_at", "scheduled_at", "finished_at"});
  const std::string id = json::text_at(from, {"run_id"});
  made.emplace("id", id);
  made.emplace("name", json::text_at(from, {"display_name"}));
  made.emplace("storage_state", storage_of(from));
  made.emplace("status", status_of(json::string_at(from, {"state"})));
  put(made, "error", json::text_at(from, {"error", "message"}));
  records::Statement* row =
      TRY(call.database.query("SELECT spec, parameters FROM runs WHERE id = ?1", {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "Run " + id + " not found");
  const json::Value spec = TRY(json::parse(row->text(0)));
  const json::Value parameters = TRY(json::parse(row->text(1)));
  TRY(add_origin(call, from, spec, parameters, made));
  if (std::string job = json::text_at(from, {"recurring_run_id"}); !job.empty())
    made["resource_references"].as_array().push_back(
        reference("JOB", job, TRY(name_of(call, "recurring_runs", job)), "CREATOR"));
  return made;
}

Answer run_detail(Call& call, const json::Value& from) {
  json::Value shown = TRY(run(call, from));
  const store::RunRecord record =
      TRY(store::load_run(call.database, json::text_at(from, {"run_id"})));
  json::Object runtime;
  const ir::Package package = TRY(ir::package_from_json(record.package));
  if (package.argo) {
    const ir::Pipeline pipeline = TRY(argo::read_pipeline(package));
    runtime.emplace(
        "workflow_manifest",
        json::serialize(argo::shown_workflow({record.package, pipeline, record.run, record.state,
                                              json::text_at(from, {"error", "message"})})));
  } else {
    runtime.emplace("pipeline_manifest", json::serialize(record.package));
  }
  return json::Object{{"run", std::move(shown)}, {"pipeline_runtime", std::move(runtime)}};
}

Answer job(Call& call, const json::Value& from) {
  json::Object made = copied(from, {"description", "service_account", "max_concurrency", "trigger",
                                    "created_at", "updated_at", "no_catchup"});
  made.emplace("id", json::text_at(from, {"recurring_run_id"}));
  made.emplace("name", json::text_at(from, {"display_name"}));
  const bool enabled = json::string_at(from, {"status"}) == "ENABLED";
  if (enabled) made.emplace("enabled", true);
  made.emplace("mode", enabled ? "ENABLED" : "DISABLED");
  made.emplace("status", enabled ? "Enabled" : "Disabled");
  put(made, "error", json::text_at(from, {"error", "message"}));
  const json::Value* spec = json::find(from, "pipeline_spec");
  const json::Value* parameters = json::find_path(from, {"runtime_config", "parameters"});
  TRY(add_origin(call, from, spec ? *spec : json::Value(), parameters ? *parameters : json::Value(),
                 made));
  return made;
}

Result<json::Object> described(Call& call, const json::Value& body, const char* kind) {
  ir::Fields fields(&body, kind);
  json::Object made{{"display_name", fields.text("name")}};
  put(made, "description", fields.text("description"));
  put(made, "service_account", fields.text("serviceAccount"));
  std::string version;
  if (const json::Array* references = fields.array("resourceReferences"))
    for (const json::Value& one : *references) {
      const std::string type = json::text_at(one, {"key", "type"});
      const std::string id = json::text_at(one, {"key", "id"});
      if (type == "EXPERIMENT")
        made.insert_or_assign("experiment_id", id);
      else if (type == "PIPELINE_VERSION")
        version = id;
      else if (type != "NAMESPACE" && type != "PIPELINE")
        return invalid(std::string(kind) + ": a reference to a " + type + " is not supported");
    }
  const json::Value* given = fields.take("pipelineSpec");
  const json::Value none = json::Object{};
  const json::Value& spec = given ? *given : none;
  std::string pipeline = json::text_at(spec, {"pipeline_id"});
  std::string manifest = json::text_at(spec, {"workflow_manifest"});
  if (manifest.empty()) manifest = json::text_at(spec, {"pipeline_manifest"});
  if (!manifest.empty()) {
    const ir::Package package = TRY(ir::read_package(manifest));
    made.emplace("pipeline_spec", package.to_json());
  } else if (!version.empty() || !pipeline.empty()) {
    if (version.empty()) version = TRY(default_version(call, pipeline));
    json::Object reference;
    put(reference, "pipeline_id", pipeline);
    put(reference, "pipeline_version_id", version);
    made.emplace("pipeline_version_reference", std::move(reference));
  }
  json::Object config{{"parameters", TRY(parameters_in(spec))}};
  put(config, "pipeline_root", json::text_at(spec, {"runtime_config", "pipeline_root"}));
  made.emplace("runtime_config", std::move(config));
  return made;
}

}  // namespace hekla::pipelines::api::v1beta1
