#include "pipelines/api/api.h"

#include <optional>
#include <span>

#include "base/build_info.h"
#include "base/log.h"
#include "json/parse.h"
#include "model/time.h"
#include "pipelines/api/call.h"
#include "pipelines/api/recurring_runs.h"
#include "pipelines/api/upload.h"
#include "pipelines/api/v1beta1/routes.h"
#include "pipelines/store/schema.h"

namespace hekla::pipelines::api {
namespace {

constexpr std::string_view kPrefix = "/apis/v2beta1", kOldPrefix = "/apis/v1beta1";
constexpr Nanos kAgain = std::chrono::seconds(1);  // at least between two rounds of schedules

Answer healthz(Call&) {
  return json::Object{{"commit_sha", build_info().version},
                      {"tag_name", "2.17.0"},
                      {"multi_user", false},
                      {"pipeline_store", "database"}};
}

struct Route {
  std::string_view method;
  std::string_view pattern;  // "*" is a variable part; a last "*:" one with a verb
  Answer (*answer)(Call&);
  bool multipart = false;
};

// In order: what is fixed stands before what is variable.
constexpr Route kRoutes[] = {
    {"GET", "/healthz", healthz},
    {"GET", "/experiments", list_experiments},
    {"POST", "/experiments", create_experiment},
    {"POST", "/experiments/*:", act_on_experiment},
    {"GET", "/experiments/*", get_experiment},
    {"DELETE", "/experiments/*", delete_experiment},
    {"GET", "/pipelines", list_pipelines},
    {"POST", "/pipelines", create_pipeline},
    {"POST", "/pipelines/upload", upload_pipeline, true},
    {"POST", "/pipelines/upload_version", upload_version, true},
    {"GET", "/pipelines/names/*", get_pipeline_by_name},
    {"GET", "/pipelines/*", get_pipeline},
    {"PATCH", "/pipelines/*", patch_pipeline},
    {"DELETE", "/pipelines/*", delete_pipeline},
    {"GET", "/pipelines/*/versions", list_versions},
    {"GET", "/pipelines/*/versions/*", get_version},
    {"PATCH", "/pipelines/*/versions/*", patch_version},
    {"DELETE", "/pipelines/*/versions/*", delete_version},
    {"GET", "/runs", list_runs},
    {"POST", "/runs", create_run},
    {"POST", "/runs/*:", act_on_run},
    {"GET", "/runs/*", get_run},
    {"DELETE", "/runs/*", delete_run},
    {"GET", "/recurringruns", list_recurring},
    {"POST", "/recurringruns", create_recurring},
    {"POST", "/recurringruns/*:", act_on_recurring},
    {"GET", "/recurringruns/*", get_recurring},
    {"DELETE", "/recurringruns/*", delete_recurring},
    {"GET", "/tasks", list_tasks},
    {"GET", "/artifacts", list_artifacts},
    {"GET", "/artifacts/*", get_artifact},
};

Answer old_healthz(Call&) {
  return json::Object{
      {"commit_sha", build_info().version}, {"tag_name", "1.8.22"}, {"multi_user", false}};
}

// Routes of version 1.
constexpr Route kOldRoutes[] = {
    {"GET", "/healthz", old_healthz},
    {"GET", "/experiments", v1beta1::list_experiments},
    {"POST", "/experiments", v1beta1::create_experiment},
    {"POST", "/experiments/*:", act_on_experiment},
    {"GET", "/experiments/*", v1beta1::get_experiment},
    {"DELETE", "/experiments/*", delete_experiment},
    {"GET", "/pipelines", v1beta1::list_pipelines},
    {"POST", "/pipelines", v1beta1::create_pipeline},
    {"POST", "/pipelines/upload", v1beta1::upload_pipeline, true},
    {"POST", "/pipelines/upload_version", v1beta1::upload_version, true},
    {"GET", "/pipelines/*", v1beta1::get_pipeline},
    {"DELETE", "/pipelines/*", v1beta1::delete_pipeline},
    {"GET", "/pipelines/*/templates", v1beta1::get_pipeline_template},
    {"POST", "/pipelines/*/default_version/*", v1beta1::set_default_version},
    {"GET", "/namespaces/*/pipelines/*", v1beta1::get_pipeline_by_name},
    {"GET", "/pipeline_versions", v1beta1::list_versions},
    {"POST", "/pipeline_versions", v1beta1::create_pipeline},
    {"GET", "/pipeline_versions/*", v1beta1::get_version},
    {"DELETE", "/pipeline_versions/*", v1beta1::delete_version},
    {"GET", "/pipeline_versions/*/templates", v1beta1::get_version_template},
    {"GET", "/runs", v1beta1::list_runs},
    {"POST", "/runs", v1beta1::create_run},
    {"POST", "/runs/*:", act_on_run},
    {"GET", "/runs/*", v1beta1::get_run},
    {"DELETE", "/runs/*", delete_run},
    {"POST", "/runs/*/terminate", v1beta1::terminate_run},
    {"POST", "/runs/*/retry", v1beta1::retry_run},
    {"GET", "/jobs", v1beta1::list_jobs},
    {"POST", "/jobs", v1beta1::create_job},
    {"GET", "/jobs/*", v1beta1::get_job},
    {"DELETE", "/jobs/*", delete_recurring},
    {"POST", "/jobs/*/enable", v1beta1::enable_job},
    {"POST", "/jobs/*/disable", v1beta1::disable_job},
};

std::string_view segment(std::string_view& path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view one = path.substr(0, end);
  path.remove_prefix(end);
  return one;
}

bool matches(const Route& route, std::string_view path, std::vector<std::string>& names,
             std::string& verb) {
  std::string_view pattern = route.pattern;
  names.clear();
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = segment(pattern), given = segment(path);
    if (wanted == "*:") {
      const std::size_t colon = given.rfind(':');
      if (colon == std::string_view::npos) return false;
      names.emplace_back(given.substr(0, colon));
      verb = given.substr(colon + 1);
    } else if (wanted == "*") {
      if (given.empty()) return false;
      names.emplace_back(given);
    } else if (wanted != given) {
      return false;
    }
  }
  return pattern.empty() && (path.empty() || path == "/");
}

struct GrpcError {
  int code, http;
};
GrpcError grpc_error(Code code) {
  switch (code) {
    case Code::bad_request:
    case Code::invalid:
      return {3, 400};
    case Code::not_found:
      return {5, 404};
    case Code::already_exists:
      return {6, 409};
    case Code::forbidden:
      return {7, 403};
    case Code::conflict:
      return {10, 409};
    case Code::too_many_requests:
      return {8, 429};
    case Code::unavailable:
    case Code::timeout:
      return {14, 503};
    case Code::unauthorized:
      return {16, 401};
    default:
      return {13, 500};
  }
}

net::Response json_response(int status, const json::Value& body) {
  net::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = json::serialize(body);
  return response;
}

net::Response error_response(const Error& error, bool multipart) {
  const GrpcError mapped = grpc_error(error.code);
  if (multipart)
    return json_response(mapped.http, json::Object{{"error_message", error.message},
                                                   {"error_details", error.message}});
  return json_response(
      mapped.http,
      json::Object{
          {"error", error.message},  // where clients of version 1 look
          {"code", mapped.code},
          {"message", error.message},
          {"details", json::Array{json::Object{{"@type", "type.googleapis.com/google.rpc.Status"},
                                               {"code", mapped.code},
                                               {"message", error.message}}}}});
}

// The answer of one transaction, and the runs it has touched.
struct Outcome {
  json::Value answer;
  std::vector<std::string> touched;
  bool rescheduled = false;
};

// A round of recurring runs: when the next one is due, and the runs it has made.
struct Scheduled {
  std::int64_t next = 0;
  std::vector<std::string> made;
};

}  // namespace

struct Api::State : std::enable_shared_from_this<Api::State> {
  explicit State(ApiOptions given) : options(std::move(given)) {}
  void look_at_schedules();

  ApiOptions options;
  int round = 0;  // of schedules; on the executor
};

// One timer stands for all of them: that of the last round.
void Api::State::look_at_schedules() {
  const int mine = ++round;
  options.records->ask<Scheduled>(
      [self = shared_from_this()](records::Database& database) -> Result<Scheduled> {
        const net::Request nobodys;
        Call call{nobodys, database, self->options.executor->clock().wall(), *self->options.rng,
                  {},      {}};
        const std::int64_t next = TRY(run_what_is_due(call));
        return Scheduled{next, std::move(call.touched)};
      },
      *options.executor,
      [self = shared_from_this(), mine](Result<Scheduled> ended) {
        if (!ended) log_error("pipelines", "recurring runs: " + ended.error().message);
        if (ended && !ended->made.empty() && self->options.touched)
          self->options.touched(ended->made);
        if (mine != self->round || (ended && ended->next == 0)) return;
        Nanos wait = kAgain;
        if (ended)
          wait = std::max<Nanos>(
              store::from_millis(ended->next) - self->options.executor->clock().wall(), kAgain);
        self->options.executor->post_after(wait, [self, mine] {
          if (mine == self->round) self->look_at_schedules();
        });
      });
}

Api::Api(ApiOptions options) : state_(std::make_shared<State>(std::move(options))) {}
Api::~Api() = default;

void Api::start_schedules() {
  state_->options.executor->post([state = state_] { state->look_at_schedules(); });
}

Result<json::Value> Call::body() const {
  if (request.body.empty()) return json::Value(json::Object{});
  Result<json::Value> parsed = json::parse(request.body);
  if (!parsed || !parsed->is_object())
    return fail(Code::bad_request, "Invalid input error: the request's body is no JSON object");
  return parsed;
}

std::string time_text(std::int64_t millis) {
  return model::format_rfc3339(store::from_millis(millis));
}

net::RouteRules Api::rules(const net::Request& head) {
  net::RouteRules rules;
  if (head.path.starts_with(kPrefix) || head.path.starts_with(kOldPrefix))
    rules.max_body_bytes = kPipelineFileMax + (1 << 20);
  return rules;
}

void Api::handle(net::Request request, std::shared_ptr<net::ResponseWriter> writer) {
  const Route* found = nullptr;
  std::vector<std::string> names;
  std::string verb;
  const bool old = request.path.starts_with(kOldPrefix);
  if (old || request.path.starts_with(kPrefix))
    for (const Route& route : old ? std::span<const Route>(kOldRoutes) : kRoutes)
      if (found == nullptr && route.method == request.method &&
          matches(route, std::string_view(request.path).substr(kPrefix.size()), names, verb))
        found = &route;
  if (found == nullptr)
    return writer->respond(error_response(
        {Code::not_found, "nothing is served at " + request.method + " " + request.path}, false));
  auto shared = std::make_shared<net::Request>(std::move(request));
  auto job = [state = state_, found, shared, names = std::move(names),
              verb = std::move(verb)](records::Database& database) mutable -> Result<Outcome> {
    Call call{*shared,
              database,
              state->options.executor->clock().wall(),
              *state->options.rng,
              std::move(names),
              std::move(verb)};
    json::Value answer = TRY(found->answer(call));
    return Outcome{std::move(answer), std::move(call.touched), call.rescheduled};
  };
  state_->options.records->ask<Outcome>(
      std::move(job), *state_->options.executor,
      [state = state_, found, writer = std::move(writer)](Result<Outcome> ended) {
        if (!ended) {
          if (grpc_error(ended.error().code).http == 500)
            log_error("pipelines", "a request failed", {{"error", ended.error().message}});
          return writer->respond(error_response(ended.error(), found->multipart));
        }
        writer->respond(json_response(200, ended->answer));
        if (found->method != "GET" && state->options.changed) {
          const std::string_view list = found->pattern.substr(1);
          state->options.changed(std::string(list.substr(0, list.find('/'))));
        }
        if (state->options.touched && !ended->touched.empty())
          state->options.touched(ended->touched);
        if (ended->rescheduled) state->look_at_schedules();
      });
}

}  // namespace hekla::pipelines::api
