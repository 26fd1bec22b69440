#include "kube/rest/rest_wire.h"

#include <charconv>

#include "json/parse.h"

namespace hekla::kube {
namespace {

// A bookmark comes every minute, or the connection is dead.
constexpr std::chrono::minutes kSilenceMax{3};

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string with_query(std::string path, const net::Query& query) {
  std::string encoded = query.encode();
  return encoded.empty() ? path : path + "?" + encoded;
}

void add_selectors(net::Query& query, const std::string& labels, const std::string& fields) {
  if (!labels.empty()) query.add("labelSelector", labels);
  if (!fields.empty()) query.add("fieldSelector", fields);
}

net::ClientRequest json_request(std::string method, std::string url) {
  net::ClientRequest request{.method = std::move(method), .url = std::move(url)};
  request.headers.add("Accept", "application/json");
  return request;
}

void set_body(net::ClientRequest& request, const json::Value& body, std::string content_type) {
  request.headers.add("Content-Type", std::move(content_type));
  request.body = json::serialize(body);
}

// What a server insists on and callers may leave to the write's own fields.
json::Value completed(const Write& write, const std::string& api_version, const std::string& kind) {
  json::Value body = write.body.is_object() ? write.body : json::Value(json::Object{});
  auto fill = [&](std::initializer_list<std::string_view> path, const std::string& value) {
    if (!value.empty() && json::string_at(body, path).empty()) json::at_path(body, path) = value;
  };
  fill({"apiVersion"}, api_version);
  fill({"kind"}, kind);
  fill({"metadata", "name"}, write.key.name);
  if (write.resource.namespaced) fill({"metadata", "namespace"}, write.key.ns);
  return body;
}

std::string_view patch_content_type(PatchType type) {
  switch (type) {
    case PatchType::json:
      return "application/json-patch+json";
    case PatchType::merge:
      return "application/merge-patch+json";
    case PatchType::strategic:
      return "application/strategic-merge-patch+json";
    case PatchType::apply:
      return "application/apply-patch+yaml";
  }
  return "application/merge-patch+json";
}

json::Value delete_options(const Write& write) {
  json::Object options{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (write.grace_period_seconds) options["gracePeriodSeconds"] = *write.grace_period_seconds;
  if (!write.propagation_policy.empty()) options["propagationPolicy"] = write.propagation_policy;
  json::Object preconditions;
  if (!write.precondition_uid.empty()) preconditions["uid"] = write.precondition_uid;
  if (write.precondition_resource_version != 0)
    preconditions["resourceVersion"] = std::to_string(write.precondition_resource_version);
  if (!preconditions.empty()) options["preconditions"] = std::move(preconditions);
  return options;
}

ObjectPtr make_object(const json::Value& value, std::string text) {
  Object object;
  object.ns = json::string_at(value, {"metadata", "namespace"});
  object.name = json::string_at(value, {"metadata", "name"});
  object.uid = json::string_at(value, {"metadata", "uid"});
  object.resource_version = number(json::string_at(value, {"metadata", "resourceVersion"}));
  object.json = std::make_shared<const std::string>(std::move(text));
  return std::make_shared<const Object>(std::move(object));
}

// Items of typed lists come without apiVersion and kind.
ObjectPtr make_item(const Resource& resource, json::Value item) {
  if (json::Object* members = item.if_object()) {
    if (!members->contains("apiVersion")) members->emplace("apiVersion", resource.api_version());
    if (!members->contains("kind")) members->emplace("kind", resource.kind);
  }
  std::string text = json::serialize(item);
  return make_object(item, std::move(text));
}

std::string what_was_asked(const net::ClientRequest& request) {
  return request.method + " " + request.url;
}

bool is_success(int status) { return status >= 200 && status < 300; }

// The parsed body of a successful answer.
Result<json::Value> success_body(const net::ClientRequest& request,
                                 const Result<net::Response>& response) {
  if (!response) return std::unexpected(response.error());
  if (!is_success(response->status))
    return std::unexpected(error_from(what_was_asked(request), *response));
  Result<json::Value> value = json::parse(response->body);
  if (!value)
    return fail(Code::internal,
                what_was_asked(request) + ": unreadable answer: " + value.error().message);
  return value;
}

Result<WatchEvent::Type> event_type(std::string_view text) {
  if (text == "ADDED") return WatchEvent::Type::added;
  if (text == "MODIFIED") return WatchEvent::Type::modified;
  if (text == "DELETED") return WatchEvent::Type::deleted;
  if (text == "BOOKMARK") return WatchEvent::Type::bookmark;
  return fail(Code::internal, "watching: unknown event type \"" + std::string(text) + "\"");
}

}  // namespace

std::string resource_path(const Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource) {
  std::string path = resource.group.empty() ? "/api/" + resource.version
                                            : "/apis/" + resource.group + "/" + resource.version;
  if (resource.namespaced && !ns.empty()) path += "/namespaces/" + net::url_encode(ns);
  path += "/" + resource.plural;
  if (!name.empty()) path += "/" + net::url_encode(name);
  if (!subresource.empty()) path += "/" + std::string(subresource);
  return path;
}

net::ClientRequest list_request(const Resource& resource, const ListOptions& options, int limit,
                                std::string_view continue_token, std::uint64_t no_older_than) {
  net::Query query;
  add_selectors(query, options.label_selector, options.field_selector);
  if (limit > 0) query.add("limit", std::to_string(limit));
  if (no_older_than > 0 && continue_token.empty()) {
    query.add("resourceVersion", std::to_string(no_older_than));
    query.add("resourceVersionMatch", "NotOlderThan");
  }
  if (!continue_token.empty()) query.add("continue", std::string(continue_token));
  return json_request("GET", with_query(resource_path(resource, options.ns), query));
}

net::ClientRequest watch_request(const Resource& resource, const WatchOptions& options) {
  net::Query query;
  query.add("watch", "true");
  query.add("resourceVersion", std::to_string(options.resource_version));
  query.add("allowWatchBookmarks", "true");
  add_selectors(query, options.label_selector, options.field_selector);
  net::ClientRequest request =
      json_request("GET", with_query(resource_path(resource, options.ns), query));
  request.timeout = {};
  request.stall_timeout = kSilenceMax;
  return request;
}

net::ClientRequest write_request(const Write& write, const std::string& field_manager) {
  const Resource& resource = write.resource;
  const std::string named =
      resource_path(resource, write.key.ns, write.key.name, write.subresource);
  net::Query query;
  query.add("fieldManager", field_manager);
  net::ClientRequest request;
  switch (write.verb) {
    case Write::Verb::create: {
      std::string path = write.subresource.empty() ? resource_path(resource, write.key.ns) : named;
      request = json_request("POST", with_query(path, query));
      bool own_kind = write.subresource.empty();  // a subresource takes a kind of its own
      set_body(request,
               own_kind ? completed(write, resource.api_version(), resource.kind) : write.body,
               "application/json");
      break;
    }
    case Write::Verb::update:
      request = json_request("PUT", with_query(named, query));
      set_body(request,
               write.subresource == "scale"
                   ? write.body
                   : completed(write, resource.api_version(), resource.kind),
               "application/json");
      break;
    case Write::Verb::patch: {
      bool is_apply = write.patch_type == PatchType::apply;
      if (is_apply && write.force) query.add("force", "true");
      request = json_request("PATCH", with_query(named, query));
      set_body(request,
               is_apply ? completed(write, resource.api_version(), resource.kind) : write.body,
               std::string(patch_content_type(write.patch_type)));
      break;
    }
    case Write::Verb::remove:
      request = json_request("DELETE", named);
      set_body(request, delete_options(write), "application/json");
      break;
    case Write::Verb::bind:
      request =
          json_request("POST", resource_path(resource, write.key.ns, write.key.name, "binding"));
      set_body(request, completed(write, "v1", "Binding"), "application/json");
      break;
    case Write::Verb::evict:
      request =
          json_request("POST", resource_path(resource, write.key.ns, write.key.name, "eviction"));
      set_body(request, completed(write, "policy/v1", "Eviction"), "application/json");
      break;
  }
  return request;
}

Error error_from_status(const json::Value& status, int http_status) {
  Error error;
  error.code = code_from(json::string_at(status, {"reason"}),
                         static_cast<int>(json::int_at(status, {"code"}, http_status)));
  error.message = json::string_at(status, {"message"});
  error.details.name = json::string_at(status, {"details", "name"});
  error.details.group = json::string_at(status, {"details", "group"});
  error.details.kind = json::string_at(status, {"details", "kind"});
  error.details.uid = json::string_at(status, {"details", "uid"});
  error.details.retry_after_seconds =
      static_cast<int>(json::int_at(status, {"details", "retryAfterSeconds"}));
  if (const json::Array* causes = json::array_at(status, {"details", "causes"}))
    for (const json::Value& cause : *causes)
      error.details.causes.push_back({std::string(json::string_at(cause, {"reason"})),
                                      std::string(json::string_at(cause, {"message"})),
                                      std::string(json::string_at(cause, {"field"}))});
  return error;
}

Error error_from(const std::string& what, const net::Response& response) {
  Error error;
  Result<json::Value> body = json::parse(response.body);
  if (body && json::string_at(*body, {"kind"}) == "Status") {
    error = error_from_status(*body, response.status);
  } else {
    error.code = code_from("", response.status);
    std::string_view text = std::string_view(response.body).substr(0, 200);
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    error.message = what + ": the server answered " + std::to_string(response.status) +
                    (text.empty() ? "" : ": " + std::string(text));
  }
  if (error.details.retry_after_seconds == 0)
    error.details.retry_after_seconds =
        static_cast<int>(number(response.headers.get("Retry-After")));
  return error;
}

Result<ObjectPtr> decode_object(const Resource& resource, const net::ClientRequest& request,
                                const Result<net::Response>& response) {
  json::Value value = TRY(success_body(request, response));
  if (json::string_at(value, {"kind"}).empty()) return make_item(resource, std::move(value));
  return make_object(value, response->body);
}

WriteResult decode_write(const Write& write, const net::ClientRequest& request,
                         const Result<net::Response>& response) {
  json::Value value = TRY(success_body(request, response));
  if (write.verb == Write::Verb::bind || write.verb == Write::Verb::evict) return ObjectPtr();
  if (write.verb == Write::Verb::remove && json::string_at(value, {"kind"}) == "Status") {
    // Gone at once: servers then answer with its name only.
    json::Value last =
        json::Object{{"apiVersion", write.resource.api_version()}, {"kind", write.resource.kind}};
    json::at_path(last, {"metadata", "name"}) = write.key.name;
    if (write.resource.namespaced) json::at_path(last, {"metadata", "namespace"}) = write.key.ns;
    json::at_path(last, {"metadata", "uid"}) = json::string_at(value, {"details", "uid"});
    return make_item(write.resource, std::move(last));
  }
  if (json::string_at(value, {"kind"}).empty()) return make_item(write.resource, std::move(value));
  return make_object(value, response->body);
}

Result<ListPage> decode_page(const Resource& resource, const net::ClientRequest& request,
                             const Result<net::Response>& response) {
  json::Value value = TRY(success_body(request, response));
  ListPage page;
  page.resource_version = number(json::string_at(value, {"metadata", "resourceVersion"}));
  page.continue_token = json::string_at(value, {"metadata", "continue"});
  json::Object* members = value.if_object();
  if (!members) return fail(Code::internal, what_was_asked(request) + ": the answer is not a list");
  if (json::Value* items = members->if_contains("items"); items && items->is_array())
    for (json::Value& item : items->get_array())
      page.items.push_back(make_item(resource, std::move(item)));
  return page;
}

Result<WatchEvent> decode_event(const Resource& resource, std::string_view line) {
  Result<json::Value> value = json::parse(line);
  if (!value)
    return fail(Code::unavailable, "watching: unreadable event: " + value.error().message);
  std::string_view type = json::string_at(*value, {"type"});
  const json::Value* object = json::find(*value, "object");
  if (!object || !object->is_object())
    return fail(Code::unavailable, "watching: an event without an object");
  if (type == "ERROR") return std::unexpected(error_from_status(*object, 500));
  WatchEvent event;
  event.type = TRY(event_type(type));
  ObjectPtr decoded = make_item(resource, *object);
  event.resource_version = decoded->resource_version;
  if (event.type != WatchEvent::Type::bookmark) event.object = std::move(decoded);
  return event;
}

}  // namespace hekla::kube
