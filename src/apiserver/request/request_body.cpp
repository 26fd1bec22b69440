#include "apiserver/request/request_body.h"

#include "apiserver/read/protobuf.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/go_syntax.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

bool is_json_body(const net::Request& request) {
  std::string_view type = request.headers.get("Content-Type");
  return type.find("yaml") == std::string_view::npos &&
         type.find("protobuf") == std::string_view::npos;
}

}  // namespace

Result<json::Value> parse_body(const net::Request& request, std::vector<std::string>* repeated,
                               json::Storage storage) {
  std::vector<std::string> found;
  std::vector<std::string>* const duplicates = repeated ? &found : nullptr;
  std::string_view type = request.headers.get("Content-Type");
  type = type.substr(0, type.find(';'));
  if (type == "application/yaml" || type == "application/apply-patch+yaml") {
    Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(request.body, duplicates);
    if (!documents) return fail(Code::bad_request, documents.error().message);
    if (documents->size() != 1)
      return fail(Code::bad_request, "the body must be exactly one YAML document");
    if (!found.empty()) {
      std::string& all = repeated->emplace_back("yaml: unmarshal errors:");
      for (const std::string& one : found) all += "\n  " + one;
    }
    return json::Value(std::move(documents->front().value), std::move(storage));
  }
  if (type == "application/vnd.kubernetes.protobuf")
    return json::Value(TRY(decode_protobuf(request.body)), std::move(storage));
  const bool is_json = type.empty() || type == "application/json" || type == "*/*" ||
                       (request.method == "PATCH" && type.ends_with("+json"));
  if (!is_json)
    return fail(Code::unsupported_media_type,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json, application/yaml, application/vnd.kubernetes.protobuf");
  Result<json::Value> body = json::parse(request.body, std::move(storage), duplicates);
  for (const std::string& path : found) repeated->push_back("duplicate field " + go_quote(path));
  return body;
}

std::string syntax_error(const net::Request& request, const Error& error) {
  std::string text = is_json_body(request) ? go_syntax_error(request.body) : "";
  return text.empty() ? error.message : text;
}

Error unreadable_body(const net::Request& request, const std::string& kind, const Error& error) {
  if (error.code == Code::unsupported_media_type) return error;
  return bad_request_error(
      "the object provided is unrecognized (must be of type " + kind +
      "): couldn't get version/kind; json parse error: " + syntax_error(request, error) + " (" +
      summarize_body(request.body) + ")");
}

}  // namespace hekla::apiserver
