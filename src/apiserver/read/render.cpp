#include "apiserver/read/render.h"

#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/read/protobuf.h"
#include "apiserver/text/status_error.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kTailFrom = 256 * 1024;  // a smaller list is made at once
constexpr std::size_t kItemsPerPiece = 8;

// Lists of custom resources say it also when there is nothing to continue.
std::string list_metadata(const ListPage& page, bool custom = false) {
  json::Object metadata{{"resourceVersion", std::to_string(page.revision)}};
  if (!page.continue_token.empty() || custom) metadata.emplace("continue", page.continue_token);
  if (page.remaining) metadata.emplace("remainingItemCount", *page.remaining);
  return json::serialize(json::Value(std::move(metadata)));
}

// JSON text in the negotiated language.
net::Response finish(std::string body, const Answer& answer, int status) {
  if (!answer.yaml && !answer.protobuf)
    return raw_json_response(status, std::move(body), answer.pretty);
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

// The items and the commas between them.
std::optional<std::size_t> items_size(const ServedKind& served,
                                      const std::vector<store::ItemPtr>& items) {
  std::size_t bytes = items.empty() ? 0 : items.size() - 1;
  for (const store::ItemPtr& item : items) {
    std::optional<std::size_t> size = object_size(served, *item, WireForm::list_item);
    if (!size) return std::nullopt;
    bytes += *size;
  }
  return bytes;
}

net::Response list_with_tail(std::string body, std::size_t bytes, ServedPtr served,
                             std::vector<store::ItemPtr> items) {
  constexpr std::string_view kEnd = "]}\n";
  net::Response response;
  response.headers.set("Content-Type", "application/json");
  response.body = std::move(body);
  response.tail.bytes = bytes + kEnd.size();
  response.tail.next = [served = std::move(served), items = std::move(items), at = std::size_t{0},
                        kEnd](std::string& out) mutable {
    for (std::size_t end = std::min(items.size(), at + kItemsPerPiece); at < end; ++at) {
      if (at > 0) out += ',';
      append_object(*served, *items[at], WireForm::list_item, out);
      items[at].reset();
    }
    if (at == items.size()) out += kEnd;
  };
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
  return render_view(served, decode_object(served, item), answer, include, status, now);
}

net::Response render_view(const ServedKind& shown_as, const json::Value& object,
                          const Answer& answer, IncludeObject include, int status, WallTime now) {
  if (answer.shape == Answer::Shape::object) return render_value(object, answer, status);
  std::string body;
  if (answer.shape == Answer::Shape::metadata) {
    append_partial_metadata(object, answer.version, body);
  } else {
    TableWriter table(shown_as, answer.version, include, now);
    table.begin(
        json::serialize(json::Object{{"resourceVersion", meta_string(object, "resourceVersion")}}),
        true, body);
    table.row(object, body);
    table.end(body);
  }
  return finish(std::move(body), answer, status);
}

net::Response render_list(const ServedPtr& served_as, ListPage page, const Answer& answer,
                          IncludeObject include, WallTime now) {
  const ServedKind& served = *served_as;
  std::string body;
  if (answer.shape == Answer::Shape::table) {
    TableWriter table(served, answer.version, include, now);
    table.begin(list_metadata(page), true, body);
    for (const store::ItemPtr& item : page.items) table.row(decode_object(served, *item), body);
    table.end(body);
    return finish(std::move(body), answer, 200);
  }
  const bool metadata_only = answer.shape == Answer::Shape::metadata;
  body += R"({"kind":")";
  body += metadata_only ? "PartialObjectMetadataList" : served.kind->list_kind;
  body += R"(","apiVersion":")";
  body += metadata_only ? "meta.k8s.io/" + answer.version : served.kind->resource.api_version();
  body += R"(","metadata":)";
  body += list_metadata(page, served.kind->custom && !metadata_only);
  body += R"(,"items":[)";
  if (!metadata_only && !answer.yaml && !answer.protobuf && !answer.pretty)
    if (std::optional<std::size_t> bytes = items_size(served, page.items);
        bytes && *bytes >= kTailFrom)
      return list_with_tail(std::move(body), *bytes, served_as, std::move(page.items));
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
