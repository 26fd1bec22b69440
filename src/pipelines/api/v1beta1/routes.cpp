#include "pipelines/api/v1beta1/routes.h"

#include "json/parse.h"
#include "pipelines/api/v1beta1/convert.h"

namespace hekla::pipelines::api::v1beta1 {
namespace {

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

// The newer API's answer to another request than the one that came.
Answer ask(Call& call, Answer (*answer)(Call&), const net::Request& request,
           std::vector<std::string> names, std::string verb = {}) {
  Call inner{request, call.database, call.now, call.rng, std::move(names), std::move(verb)};
  Answer made = answer(inner);
  for (std::string& id : inner.touched) call.touched.push_back(std::move(id));
  call.rescheduled = call.rescheduled || inner.rescheduled;
  return made;
}

Answer ask_with(Call& call, Answer (*answer)(Call&), const json::Object& body) {
  net::Request request;
  request.method = call.request.method;
  request.body = json::serialize(body);
  return ask(call, answer, request, {});
}

// The query with the id of what the list belongs to under the name that it has in the newer API.
Result<net::Request> listed(Call& call, const char* key, const char* type, const char* member) {
  net::Request request;
  request.query = call.request.query;
  const std::string given(call.request.query.get(std::string(key) + ".type"));
  if (given == type)
    request.query.add(member, std::string(call.request.query.get(std::string(key) + ".id")));
  else if (!given.empty() && given != "NAMESPACE" && given != "UNKNOWN_RESOURCE_TYPE")
    return invalid("a list by a reference to a " + given + " is not supported");
  return request;
}

// The list with each of its objects turned round.
Answer converted(Call& call, json::Value list, const char* from, const char* to,
                 Answer (*convert)(Call&, const json::Value&)) {
  json::Object& answer = list.as_object();
  json::Array made;
  if (const json::Array* all = json::array_at(list, {from}))
    for (const json::Value& one : *all) made.push_back(TRY(convert(call, one)));
  answer.erase(from);
  if (!made.empty()) answer.emplace(to, std::move(made));
  return list;
}

Result<std::string> pipeline_of_version(Call& call, const std::string& version) {
  records::Statement* row =
      TRY(call.database.query("SELECT pipeline_id FROM versions WHERE id = ?1", {version}));
  if (!TRY(row->step())) return fail(Code::not_found, "PipelineVersion " + version + " not found");
  return row->text(0);
}

Answer template_of(Call& call, const std::string& pipeline, const std::string& version) {
  const json::Value found = TRY(ask(call, api::get_version, call.request, {pipeline, version}));
  const json::Value& spec = *json::find(found, "pipeline_spec");
  const json::Value* inner = json::find(spec, "pipeline_spec");
  std::string text = json::to_yaml(inner ? *inner : spec);
  if (const json::Value* platform = inner ? json::find(spec, "platform_spec") : nullptr)
    text += "---\n" + json::to_yaml(*platform);
  return json::Object{{"template", std::move(text)}};
}

}  // namespace

Answer list_experiments(Call& call) {
  return converted(call, TRY(api::list_experiments(call)), "experiments", "experiments",
                   [](Call&, const json::Value& one) -> Answer { return experiment(one); });
}

Answer create_experiment(Call& call) {
  const json::Value body = TRY(call.body());
  const json::Object wanted{{"display_name", json::text_at(body, {"name"})},
                            {"description", json::text_at(body, {"description"})}};
  return experiment(TRY(ask_with(call, api::create_experiment, wanted)));
}

Answer get_experiment(Call& call) { return experiment(TRY(api::get_experiment(call))); }

Answer list_pipelines(Call& call) {
  return converted(call, TRY(api::list_pipelines(call)), "pipelines", "pipelines", pipeline);
}
Answer create_pipeline(Call&) {
  return invalid("this server fetches no pipelines from URLs: upload the file");
}
Answer upload_pipeline(Call& call) { return pipeline(call, TRY(api::upload_pipeline(call))); }
Answer get_pipeline(Call& call) { return pipeline(call, TRY(api::get_pipeline(call))); }

Answer get_pipeline_by_name(Call& call) {
  return pipeline(call, TRY(ask(call, api::get_pipeline_by_name, call.request, {call.name(1)})));
}

// With its versions, as it was in this version of the API.
Answer delete_pipeline(Call& call) {
  net::Request request;
  request.query.add("cascade", "true");
  return ask(call, api::delete_pipeline, request, {call.name()});
}

Answer get_pipeline_template(Call& call) {
  const json::Value found = TRY(v1beta1::get_pipeline(call));
  const std::string version = json::text_at(found, {"default_version", "id"});
  if (version.empty()) return fail(Code::not_found, "Pipeline " + call.name() + " has no version");
  return template_of(call, call.name(), version);
}

Answer set_default_version(Call& call) {
  TRY(ask(call, api::get_version, call.request, {call.name(0), call.name(1)}));
  TRY(call.database.run("UPDATE pipelines SET default_version = ?2 WHERE id = ?1",
                        {call.name(0), call.name(1)}));
  return json::Object{};
}

Answer list_versions(Call& call) {
  const std::string id(call.request.query.get("resource_key.id"));
  if (id.empty()) return invalid("a list of versions needs resource_key.id, the pipeline's");
  return converted(call, TRY(ask(call, api::list_versions, call.request, {id})),
                   "pipeline_versions", "versions", version);
}
Answer upload_version(Call& call) { return version(call, TRY(api::upload_version(call))); }

Answer get_version(Call& call) {
  const std::string pipeline = TRY(pipeline_of_version(call, call.name()));
  return version(call, TRY(ask(call, api::get_version, call.request, {pipeline, call.name()})));
}
Answer delete_version(Call& call) {
  const std::string pipeline = TRY(pipeline_of_version(call, call.name()));
  return ask(call, api::delete_version, call.request, {pipeline, call.name()});
}
Answer get_version_template(Call& call) {
  return template_of(call, TRY(pipeline_of_version(call, call.name())), call.name());
}

Answer list_runs(Call& call) {
  const net::Request request =
      TRY(listed(call, "resource_reference_key", "EXPERIMENT", "experiment_id"));
  return converted(call, TRY(ask(call, api::list_runs, request, {})), "runs", "runs", run);
}

Answer create_run(Call& call) {
  const json::Object wanted = TRY(described(call, TRY(call.body()), "Run"));
  return run_detail(call, TRY(ask_with(call, api::create_run, wanted)));
}

Answer get_run(Call& call) { return run_detail(call, TRY(api::get_run(call))); }
Answer terminate_run(Call& call) {
  return ask(call, api::act_on_run, call.request, call.names, "terminate");
}
Answer retry_run(Call& call) {
  return ask(call, api::act_on_run, call.request, call.names, "retry");
}

Answer list_jobs(Call& call) {
  const net::Request request =
      TRY(listed(call, "resource_reference_key", "EXPERIMENT", "experiment_id"));
  return converted(call, TRY(ask(call, api::list_recurring, request, {})), "recurringRuns", "jobs",
                   job);
}

Answer create_job(Call& call) {
  const json::Value body = TRY(call.body());
  json::Object wanted = TRY(described(call, body, "Job"));
  for (const char* name : {"max_concurrency", "trigger", "no_catchup"})
    if (const json::Value* given = json::find(body, name)) wanted.emplace(name, *given);
  const std::string_view mode = json::string_at(body, {"mode"});
  const bool enabled = json::bool_at(body, {"enabled"}) || mode == "ENABLED";
  wanted.emplace("mode", enabled ? "ENABLE" : "DISABLE");
  return job(call, TRY(ask_with(call, api::create_recurring, wanted)));
}

Answer get_job(Call& call) { return job(call, TRY(api::get_recurring(call))); }
Answer enable_job(Call& call) {
  return ask(call, api::act_on_recurring, call.request, call.names, "enable");
}
Answer disable_job(Call& call) {
  return ask(call, api::act_on_recurring, call.request, call.names, "disable");
}

}  // namespace hekla::pipelines::api::v1beta1
