#include "cli/pipelines/pipeline_api.h"

#include "base/clock.h"
#include "base/rng.h"
#include "json/parse.h"
#include "model/time.h"
#include "net/http.h"

namespace hekla::cli {
namespace {

constexpr const char* kProxy = "/api/v1/namespaces/kubeflow/services/ml-pipeline:http/proxy";

std::string filter(const std::string& key, const std::string& value) {
  const json::Value made = json::Object{
      {"predicates",
       json::Array{json::Object{{"key", key}, {"operation", "EQUALS"}, {"string_value", value}}}}};
  return "filter=" + net::url_encode(json::serialize(made));
}

std::vector<json::Value> members(const json::Value& answer, std::string_view name) {
  const json::Array* all = json::array_at(answer, {name});
  return all ? std::vector<json::Value>(all->begin(), all->end()) : std::vector<json::Value>{};
}

// The same documents, whatever their order and style.
bool is_same_package(const std::string& package, const json::Value& kept) {
  auto documents = json::parse_yaml(package);
  if (!documents) return false;
  const json::Value* platform = json::find_path(kept, {"platform_spec"});
  for (const json::YamlDocument& document : *documents) {
    const bool is_platform = json::find_path(document.value, {"platforms"}) != nullptr;
    if (is_platform ? !platform || document.value != *platform : document.value != spec_of(kept))
      return false;
  }
  return documents->size() == (platform ? 2u : 1u);
}

}  // namespace

const json::Value& spec_of(const json::Value& holder) {
  static const json::Value none;
  for (std::initializer_list<std::string_view> path :
       {std::initializer_list<std::string_view>{"pipeline_spec", "pipeline_spec"},
        std::initializer_list<std::string_view>{"pipeline_spec"}})
    if (const json::Value* found = json::find_path(holder, path)) return *found;
  return json::find_path(holder, {"root"}) ? holder : none;
}

Result<json::Value> PipelineApi::call(const std::string& method, const std::string& path,
                                      const json::Value& body) {
  Result<json::Value> answer =
      session_.call(method, std::string(kProxy) + "/apis/v2beta1" + path,
                    body.is_null() ? std::string() : json::serialize(body));
  if (!answer &&
      answer.error().message.find("services \"ml-pipeline\" not found") != std::string::npos)
    return fail(Code::not_found,
                "this platform serves no pipelines: they need a node of its own (hekla up as root, "
                "without --no-agent)");
  return answer;
}

Result<std::vector<json::Value>> PipelineApi::runs(int count) {
  const json::Value answer =
      TRY(call("GET", "/runs?sort_by=created_at%20desc&page_size=" + std::to_string(count)));
  return members(answer, "runs");
}

Result<json::Value> PipelineApi::find_run(const std::string& name) {
  Result<json::Value> run = call("GET", "/runs/" + net::url_encode(name));
  if (run || run.error().code != Code::not_found ||
      run.error().message.find("serves no pipelines") != std::string::npos)
    return run;
  const json::Value answer = TRY(
      call("GET", "/runs?sort_by=created_at%20desc&page_size=1&" + filter("display_name", name)));
  std::vector<json::Value> found = members(answer, "runs");
  if (found.empty()) return fail(Code::not_found, "there is no run \"" + name + "\"");
  return found.front();
}

Result<std::vector<json::Value>> PipelineApi::tasks(const std::string& run_id) {
  return members(TRY(call("GET", "/tasks?run_id=" + net::url_encode(run_id))), "tasks");
}

Result<std::string> PipelineApi::experiment(const std::string& name) {
  const json::Value answer =
      TRY(call("GET", "/experiments?page_size=1&" + filter("display_name", name)));
  for (const json::Value& one : members(answer, "experiments"))
    return json::text_at(one, {"experiment_id"});
  const json::Value made = TRY(call("POST", "/experiments", json::Object{{"display_name", name}}));
  return json::text_at(made, {"experiment_id"});
}

Result<json::Value> PipelineApi::publish(const std::string& name, const std::string& file,
                                         const std::string& package) {
  Result<json::Value> pipeline = call("GET", "/pipelines/names/" + net::url_encode(name));
  if (!pipeline && pipeline.error().code != Code::not_found) return pipeline;
  const std::string id = pipeline ? json::text_at(*pipeline, {"pipeline_id"}) : "";
  const std::string newest = "/pipelines/" + id + "/versions?page_size=1&sort_by=created_at%20desc";
  if (pipeline)
    for (json::Value& version : members(TRY(call("GET", newest)), "pipeline_versions"))
      if (const json::Value* kept = json::find_path(version, {"pipeline_spec"});
          kept && is_same_package(package, *kept))
        return std::move(version);
  const std::string boundary = "hekla-" + name_suffix(real_rng(), 16);
  const std::string body =
      "--" + boundary + "\r\nContent-Disposition: form-data; name=\"uploadfile\"; filename=\"" +
      net::url_encode(file) + "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + package +
      "\r\n--" + boundary + "--\r\n";
  const std::string path =
      pipeline
          ? "/pipelines/upload_version?pipelineid=" + id +
                "&name=" + net::url_encode(name + " " + model::format_rfc3339(real_clock().wall()))
          : "/pipelines/upload?name=" + net::url_encode(name);
  const json::Value made = TRY(session_.call("POST", std::string(kProxy) + "/apis/v2beta1" + path,
                                             body, "multipart/form-data; boundary=" + boundary));
  if (pipeline) return made;
  const std::vector<json::Value> versions =
      members(TRY(call("GET", "/pipelines/" + json::text_at(made, {"pipeline_id"}) + "/versions")),
              "pipeline_versions");
  if (versions.empty()) return fail(Code::internal, "pipeline " + name + " has no version");
  return versions.front();
}

Result<void> PipelineApi::log(const std::string& run_id, const std::string& pod, bool follow,
                              const std::function<void(std::string_view)>& piece) {
  return session_.stream(std::string(kProxy) + "/k8s/pod/logs?runid=" + net::url_encode(run_id) +
                             "&podname=" + net::url_encode(pod) + (follow ? "&follow=true" : ""),
                         "*/*", piece);
}

}  // namespace hekla::cli
