#include "apiserver/text/status_error.h"

#include "json/parse.h"

namespace hekla::apiserver {

namespace {

// A webhook that refuses without a reason of its own leaves the field empty, and so do failures
// that upstream did not foresee as a Status; kubectl shows the difference.
bool without_reason(const Error& error) {
  return (error.code == Code::bad_request && error.message.starts_with("admission webhook \"")) ||
         (error.code == Code::internal && !error.message.starts_with("Internal error occurred: "));
}

// Refusals of the router carry details even if there is nothing to say in them.
bool with_empty_details(const Error& error) {
  return error.code == Code::invalid || error.code == Code::not_found ||
         error.code == Code::method_not_allowed || error.message.starts_with("406: ") ||
         error.message.starts_with("415: ");
}

json::Object empty_status(std::string_view outcome) {
  json::Object status;
  status.emplace("kind", "Status");
  status.emplace("apiVersion", "v1");
  status.emplace("metadata", json::Object());
  status.emplace("status", outcome);
  return status;
}

json::Value details_of(const ErrorDetails& details) {
  json::Object out;
  auto put = [&](std::string_view member, const std::string& value) {
    if (!value.empty()) out.emplace(member, value);
  };
  put("name", details.name);
  put("group", details.group);
  put("kind", details.kind);
  put("uid", details.uid);
  if (!details.causes.empty()) {
    json::Array causes;
    for (const Cause& cause : details.causes) {
      json::Object one;
      if (!cause.reason.empty()) one.emplace("reason", cause.reason);
      if (!cause.message.empty()) one.emplace("message", cause.message);
      if (!cause.field.empty()) one.emplace("field", cause.field);
      causes.push_back(std::move(one));
    }
    out.emplace("causes", std::move(causes));
  }
  if (details.retry_after_seconds > 0)
    out.emplace("retryAfterSeconds", details.retry_after_seconds);
  return out;
}

}  // namespace

json::Value status_of(const Error& error, std::string_view continue_token) {
  json::Object status = empty_status("Failure");
  if (!continue_token.empty()) status["metadata"].get_object().emplace("continue", continue_token);
  status.emplace("message", error.message);
  if (!without_reason(error)) status.emplace("reason", reason_of(error.code));
  json::Value details = details_of(error.details);
  if (!details.get_object().empty() || with_empty_details(error))
    status.emplace("details", std::move(details));
  status.emplace("code", http_status_of(error.code));
  return status;
}

net::Response error_response(const Error& error, bool pretty, std::string_view continue_token) {
  net::Response response =
      json_response(http_status_of(error.code), status_of(error, continue_token), pretty);
  if (error.details.retry_after_seconds > 0)
    response.headers.set("Retry-After", std::to_string(error.details.retry_after_seconds));
  return response;
}

json::Value success_status(const kube::Resource& resource, std::string_view name,
                           std::string_view uid) {
  json::Object status = empty_status("Success");
  json::Object details;
  details.emplace("name", name);
  if (!resource.group.empty()) details.emplace("group", resource.group);
  details.emplace("kind", resource.plural);
  details.emplace("uid", uid);
  status.emplace("details", std::move(details));
  return status;
}

json::Value created_status() {
  json::Object status = empty_status("Success");
  status.emplace("code", 201);
  return status;
}

net::Response json_response(int status, const json::Value& value, bool pretty) {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = pretty ? json::serialize_pretty(value) : json::serialize(value);
  response.body += '\n';
  return response;
}

net::Response raw_json_response(int status, std::string body, bool pretty) {
  if (pretty) {
    Result<json::Value> value = json::parse(body);
    if (value) return json_response(status, *value, true);
  }
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  response.body = std::move(body);
  response.body += '\n';
  return response;
}

}  // namespace hekla::apiserver
