#include "pipelines/api/new_run.h"

#include "json/parse.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/ir/text.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr const char* kNamespace = "kubeflow";

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

// A name for objects of the run: the pipeline's, cut, and five characters.
std::string resource_name(Rng& rng, std::string_view pipeline) {
  std::string name;
  for (char c : pipeline.substr(0, 40))
    name += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  while (name.ends_with('-')) name.pop_back();
  if (name.empty() || name.front() == '-') name = "run" + name;
  return name + "-" + name_suffix(rng, 5);
}

// The queue that the run's pods wait in: {"hekla.io": {"queue": "q"}}. Inputs of other plugins are
// theirs.
Result<std::string> queue_of(const json::Value* plugins) {
  const json::Value* own = plugins ? json::find_path(*plugins, {"hekla.io"}) : nullptr;
  if (own == nullptr) return std::string();
  ir::Fields fields(own, "plugins_input[hekla.io]");
  std::string queue = fields.text("queue");
  TRY(fields.finish());
  return queue;
}

}  // namespace

json::Object given_to(const ir::Pipeline& pipeline, json::Object parameters) {
  if (pipeline.argo)
    for (auto& member : parameters) member.value() = json::Value(ir::text_of(member.value()));
  return parameters;
}

Result<Source> source_of(Call& call, ir::Fields& fields) {
  Source source;
  if (const json::Value* spec = fields.take("pipelineSpec")) {
    source.package = TRY(ir::package_from_json(*spec));
    return source;
  }
  ir::Fields reference(fields.take("pipelineVersionReference"), "pipeline_version_reference");
  source.pipeline_id = reference.text("pipelineId");
  source.version_id = reference.text("pipelineVersionId");
  TRY(reference.finish());
  if (source.version_id.empty()) source.version_id = fields.text("pipelineVersionId");
  if (source.pipeline_id.empty() && source.version_id.empty())
    return invalid(
        "Failed to fetch a template: a run needs a pipeline_spec or a "
        "pipeline_version_reference");
  records::Statement* row =
      source.version_id.empty()
          ? TRY(call.database.query(
                "SELECT id, pipeline_id, spec FROM versions WHERE pipeline_id = ?1"
                " ORDER BY created DESC, rowid DESC LIMIT 1",
                {source.pipeline_id}))
          : TRY(call.database.query("SELECT id, pipeline_id, spec FROM versions WHERE id = ?1",
                                    {source.version_id}));
  if (!TRY(row->step()))
    return fail(Code::not_found,
                source.version_id.empty()
                    ? "Pipeline " + source.pipeline_id + " not found, or it has no version"
                    : "PipelineVersion " + source.version_id + " not found");
  source.version_id = row->text(0);
  source.pipeline_id = row->text(1);
  const json::Value spec = TRY(json::parse(row->text(2)));
  source.package = TRY(ir::package_from_json(spec));
  return source;
}

Result<std::string> checked_experiment(Call& call, std::string id) {
  if (id.empty()) return default_experiment(call);
  records::Statement* row =
      TRY(call.database.query("SELECT storage FROM experiments WHERE id = ?1", {id}));
  if (!TRY(row->step())) return fail(Code::not_found, "Experiment " + id + " not found");
  if (row->text(0) == "ARCHIVED")
    return invalid("Failed to create a run: experiment " + id + " is archived");
  return id;
}

Result<ir::Pipeline> runnable(const Source& source) { return argo::read_pipeline(source.package); }

Result<std::string> insert_run(Call& call, const json::Value& body, const RunOrigin& origin) {
  ir::Fields fields(&body, "Run");
  const std::string name = fields.text("displayName"), description = fields.text("description");
  std::string account = fields.text("serviceAccount");
  const std::string experiment = fields.text("experimentId");
  Source source = TRY(source_of(call, fields));
  ir::Fields config(fields.take("runtimeConfig"), "runtime_config");
  const json::Object* given = config.object("parameters");
  std::string root = config.text("pipelineRoot");
  TRY(config.finish());
  const std::string queue = TRY(queue_of(fields.take("pluginsInput")));
  for (const char* ignored :
       {"pipelineVersionId", "runId", "storageState", "createdAt", "scheduledAt", "finishedAt",
        "state", "error", "recurringRunId", "stateHistory", "runDetails"})
    fields.take(ignored);
  TRY(fields.finish());
  if (name.empty()) return invalid("Run's display_name cannot be empty");
  const ir::Pipeline pipeline = TRY(runnable(source));
  const json::Object parameters = given ? given_to(pipeline, *given) : json::Object{};
  TRY(ir::check_parameters(pipeline, parameters));
  if (root.empty()) root = pipeline.default_root.empty() ? kDefaultRoot : pipeline.default_root;
  const std::string in = TRY(checked_experiment(call, experiment));
  const std::string ns = origin.ns.empty() ? kNamespace : origin.ns;
  if (account.empty() && ns != kNamespace)
    account = pipeline.service_account.empty() ? "default" : pipeline.service_account;
  const std::int64_t now = store::to_millis(call.now);
  json::Array history{json::Object{{"update_time", time_text(now)}, {"state", "PENDING"}}};
  TRY(call.database.run(
      "INSERT INTO runs (id, experiment_id, name, description, namespace, storage, service_account,"
      " resource_name, created, scheduled, state, pipeline_id, version_id, spec, parameters,"
      " pipeline_root, history, open, recurring_run_id, queue) VALUES (?1, ?2, ?3, ?4, ?17,"
      " 'AVAILABLE', ?5, ?6, ?7, ?8, 'PENDING', ?9, ?10, ?11, ?12, ?13, ?14, 1, ?15, ?16)",
      {origin.id, in, name, description, account,
       origin.resource_name.empty() ? resource_name(call.rng, pipeline.name) : origin.resource_name,
       now, origin.scheduled ? origin.scheduled : now, source.pipeline_id, source.version_id,
       json::serialize(source.package.to_json()), json::serialize(parameters), root,
       json::serialize(history), origin.recurring_run_id, queue, ns}));
  TRY(call.database.run("UPDATE experiments SET last_run = ?2 WHERE id = ?1", {in, now}));
  call.touched.push_back(origin.id);
  return origin.id;
}

}  // namespace hekla::pipelines::api
