#include "apiserver/render.h"

#include "apiserver/protobuf.h"
#include "apiserver/status_error.h"
#include "apiserver/storage.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

// Lists of custom resources say it also when there is nothing to continue.
std::string list_metadata(const ListPage& page, bool custom = false) {
  json::Object metadata{{"resourceVersion", std::to_string(page.revision)}};
  if (!page.continue_token.empty() || custom) metadata.emplace("continue", page.continue_token);
  if (page.remaining) metadata.emplace("remainingItemCount", *page.remaining);
  return json::serialize(json::Value(std::move(metadata)));
}

// JSON text in the negotiated language.
net::Response finish(std::string body, const Answer& answer, int status) {
  if (!answer.yaml && !answer.protobuf) return raw_json_response(status, std::move(body), answer.pretty);
  net::Response response;
  response.status = status;
  Result<json::Value> value = json::parse(body);
  if (answer.protobuf) {
    Result<std::string> bytes = value ? encode_protobuf(*value) : std::unexpected(value.error());
    if (!bytes) return error_response(bytes.error());
    response.headers.set("Content-Type", "application/vnd.kubernetes.protobuf");
    response.body = std::move(*bytes);
    return response;
  }
  response.headers.set("Content-Type", "application/yaml");
  response.body = value ? json::to_yaml(*value) : std::move(body);
  return response;
}

}  // namespace

net::Response render_object(const ServedKind& served, const store::Item& item, const Answer& answer,
                            IncludeObject include, int status, WallTime now) {
  std::string body;
  if (answer.shape == Answer::Shape::object) {
    append_object(served, item, WireForm::whole, body);
    return finish(std::move(body), answer, status);
  }
  json::Value object = decode_object(served, item);
  if (answer.shape == Answer::Shape::metadata) {
    append_partial_metadata(object, answer.version, body);
  } else {
    TableWriter table(served, answer.version, include, now);
    table.begin(R"({"resourceVersion":")" + std::to_string(item.modified) + R"("})", true, body);
    table.row(object, body);
    table.end(body);
  }
  return finish(std::move(body), answer, status);
}

net::Response render_list(const ServedKind& served, const ListPage& page, const Answer& answer,
                          IncludeObject include, WallTime now) {
  std::string body;
  if (answer.shape == Answer::Shape::table) {
    TableWriter table(served, answer.version, include, now);
    table.begin(list_metadata(page), true, body);
    for (const store::ItemPtr& item : page.items) table.row(decode_object(served, *item), body);
    table.end(body);
    return finish(std::move(body), answer, 200);
  }
  const bool metadata_only = answer.shape == Answer::Shape::metadata;
  std::size_t bytes = 256;
  for (const store::ItemPtr& item : page.items) bytes += item->value.size() + 1;
  body.reserve(bytes);
  body += R"({"kind":")";
  body += metadata_only ? "PartialObjectMetadataList" : served.kind->list_kind;
  body += R"(","apiVersion":")";
  body += metadata_only ? "meta.k8s.io/" + answer.version : served.kind->resource.api_version();
  body += R"(","metadata":)";
  body += list_metadata(page, served.kind->custom && !metadata_only);
  body += R"(,"items":[)";
  bool first = true;
  for (const store::ItemPtr& item : page.items) {
    if (!first) body += ',';
    first = false;
    if (metadata_only)
      append_partial_metadata(decode_object(served, *item), answer.version, body);
    else
      append_object(served, *item, WireForm::list_item, body);
  }
  body += "]}";
  return finish(std::move(body), answer, 200);
}

net::Response render_value(const json::Value& value, const Answer& answer, int status) {
  return finish(json::serialize(value), answer, status);
}

}  // namespace hekla::apiserver
