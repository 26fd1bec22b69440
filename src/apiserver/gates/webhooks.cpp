#include "apiserver/gates/webhooks.h"

#include <algorithm>

#include "apiserver/gates/webhook_configurations.h"
#include "apiserver/gates/webhook_match.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/user_info.h"
#include "base/bytes.h"
#include "base/check.h"
#include "json/parse.h"
#include "json/patch.h"

namespace hekla::apiserver {
namespace {

// Configurations of webhooks are beyond the reach of webhooks, or nobody could repair a broken one.
bool exempt(const kube::Resource& resource) {
  return resource.group == "admissionregistration.k8s.io" &&
         (resource.plural == "mutatingwebhookconfigurations" ||
          resource.plural == "validatingwebhookconfigurations");
}

json::Value gvk(const kube::Resource& r) {
  return json::Object{{"group", r.group}, {"version", r.version}, {"kind", r.kind}};
}
json::Value gvr(const kube::Resource& r) {
  return json::Object{{"group", r.group}, {"version", r.version}, {"resource", r.plural}};
}

json::Value in_version(const json::Value& object, const kube::Resource& as) {
  json::Value out = object;
  if (out.is_object()) {
    out.get_object()["apiVersion"] = as.api_version();
    out.get_object()["kind"] = as.kind;
  }
  return out;
}

// Options of the operation as the client has sent them, by whichever method: a patch creates
// or updates.
json::Value options_value(const OwnAdmissionRequest& request) {
  static constexpr std::string_view kKinds[] = {"CreateOptions", "UpdateOptions", "DeleteOptions"};
  if (request.operation == kube::Operation::connect) return nullptr;
  json::Object out{{"kind", kKinds[static_cast<int>(request.operation)]},
                   {"apiVersion", "meta.k8s.io/v1"}};
  const WriteRequest& write = *request.write;
  if (request.operation == kube::Operation::remove) {
    const RemoveOptions& remove = write.remove;
    if (remove.grace_period_seconds)
      out.emplace("gracePeriodSeconds", *remove.grace_period_seconds);
    json::Object preconditions;
    if (!remove.precondition_uid.empty()) preconditions.emplace("uid", remove.precondition_uid);
    if (!remove.precondition_resource_version.empty())
      preconditions.emplace("resourceVersion", remove.precondition_resource_version);
    if (!preconditions.empty()) out.emplace("preconditions", std::move(preconditions));
    if (remove.orphan_dependents) out.emplace("orphanDependents", *remove.orphan_dependents);
    if (!remove.propagation_policy.empty())
      out.emplace("propagationPolicy", remove.propagation_policy);
  }
  if (write.dry_run) out.emplace("dryRun", json::Array{json::Value("All")});
  if (request.operation == kube::Operation::remove) return out;
  if (!write.given_manager.empty()) out.emplace("fieldManager", write.given_manager);
  if (!write.given_validation.empty()) out.emplace("fieldValidation", write.given_validation);
  return out;
}

}  // namespace

json::Value review_request(const kube::AdmissionRequest& request, const kube::Resource& as,
                           const json::Value& object) {
  const bool own_kind = !request.sent_kind.kind.empty();
  const kube::Resource& shown = own_kind ? request.sent_kind : as;
  json::Object out;
  out.emplace("kind", gvk(shown));
  out.emplace("resource", gvr(as));
  if (!request.subresource.empty()) out.emplace("subResource", request.subresource);
  out.emplace("requestKind", gvk(own_kind ? request.sent_kind : request.resource));
  out.emplace("requestResource", gvr(request.resource));
  if (!request.subresource.empty()) out.emplace("requestSubResource", request.subresource);
  if (!request.key.name.empty()) out.emplace("name", request.key.name);
  if (!request.key.ns.empty()) out.emplace("namespace", request.key.ns);
  const bool removal = request.operation == kube::Operation::remove;
  out.emplace("operation", operation_name(request.operation));
  out.emplace("userInfo", user_value(request.user));
  out.emplace("object", removal ? json::Value() : in_version(object, shown));
  out.emplace("oldObject",
              request.old_object ? in_version(*request.old_object, shown) : json::Value());
  out.emplace("dryRun", request.dry_run);
  out.emplace("options", options_value(static_cast<const OwnAdmissionRequest&>(request)));
  return out;
}

namespace {

std::string authority_of(const std::string& address, std::int64_t port) {
  const bool ipv6 = address.find(':') != std::string::npos;
  return (ipv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

// The name of the service's port with this number: what its endpoints call their own.
std::optional<std::string> port_name(const json::Value& service, std::int64_t port) {
  if (const json::Array* ports = json::array_at(service, {"spec", "ports"}))
    for (const json::Value& one : *ports)
      if (json::int_at(one, {"port"}) == port) return json::text_at(one, {"name"});
  return std::nullopt;
}

// host:port of one of a service's ready endpoints. Never its cluster IP, which leads somewhere only
// in the pods' network: from the host's the review would leave the machine by the default route.
Result<std::string> service_authority(const kube::AdmissionReader& reader, const kube::Key& key,
                                      std::int64_t port) {
  const kube::Resource services{
      .group = "", .version = "v1", .plural = "services", .kind = "Service", .namespaced = true};
  const Result<kube::SharedValue> service = reader.get(services, key);
  if (!service) return fail(Code::unavailable, "service \"" + key.name + "\" not found");
  const std::optional<std::string> name = port_name(**service, port);
  if (!name)
    return fail(Code::unavailable, "no service port " + std::to_string(port) +
                                       " found for service \"" + key.name + "\"");
  const kube::Resource endpoints{
      .group = "", .version = "v1", .plural = "endpoints", .kind = "Endpoints", .namespaced = true};
  if (Result<kube::SharedValue> found = reader.get(endpoints, key))
    if (const json::Array* subsets = json::array_at(**found, {"subsets"}))
      for (const json::Value& subset : *subsets) {
        const json::Array* addresses = json::array_at(subset, {"addresses"});
        const json::Array* ports = json::array_at(subset, {"ports"});
        if (!addresses || addresses->empty() || !ports) continue;
        for (const json::Value& one : *ports)
          if (json::text_at(one, {"name"}) == *name)
            return authority_of(json::text_at((*addresses)[0], {"ip"}),
                                json::int_at(one, {"port"}));
      }
  return fail(Code::unavailable, "no endpoints available for service " + go_quote(key.name));
}

// A URL as kube-apiserver calls it: no empty and no dotted parts in its path. envtest writes
// "//path".
std::string cleaned_url(const std::string& url) {
  const std::size_t host = url.find("://"), mark = url.find('?');
  const std::size_t path = url.find('/', host == std::string::npos ? 0 : host + 3);
  if (path == std::string::npos || path > mark) return url;
  std::vector<std::string> parts;
  const std::string text = url.substr(path, mark == std::string::npos ? mark : mark - path);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find('/', at), text.size());
    std::string part = text.substr(at, next - at);
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(std::move(part));
    at = next + 1;
  }
  std::string out = url.substr(0, path);
  if (parts.empty()) out += "/";
  for (const std::string& part : parts) out += "/" + part;
  return out + (mark == std::string::npos ? "" : url.substr(mark));
}

Error failed_call(const Webhook& webhook, const std::string& why) {
  return {Code::internal,
          "Internal error occurred: failed calling webhook " + go_quote(webhook.name) + ": " + why};
}

Error denial_of(const Webhook& webhook, const json::Value& response) {
  std::string message = "admission webhook " + go_quote(webhook.name) + " denied the request";
  const std::string text = json::text_at(response, {"status", "message"});
  const std::string reason = json::text_at(response, {"status", "reason"});
  message += !text.empty() ? ": " + text : !reason.empty() ? ": " + reason : " without explanation";
  const std::int64_t status =
      std::max<std::int64_t>(json::int_at(response, {"status", "code"}), 400);
  return {code_from(reason, static_cast<int>(status)), std::move(message)};
}

// One webhook and one object. Nothing: it is not concerned, or its failure is ignored.
class Invocation {
 public:
  Invocation(WriteScope& scope, const kube::AdmissionRequest& request)
      : scope_(scope), request_(request) {}

  Result<std::optional<json::Value>> run(const Webhook& webhook, const json::Value& object) {
    CHECK(scope_.memo && request_.reader, "a webhook's answers are kept with the request");
    ServedPtr as = webhook_version(webhook.spec, request_, scope_.catalog);
    if (!as) return std::nullopt;
    if (!TRY(webhook_selects(webhook.spec, request_, object))) return std::nullopt;
    json::Value review = review_request(request_, as->kind->resource, object);
    Result<bool> holds =
        webhook_conditions_hold(webhook, request_, review, *scope_.services.authorizer);
    if (!holds)
      return settled(webhook,
                     forbidden_error(request_.resource, request_.key.name, holds.error().message));
    if (!*holds) return std::nullopt;
    const std::string_view effects = json::string_at(webhook.spec, {"sideEffects"});
    if (request_.dry_run && effects != "None" && effects != "NoneOnDryRun")
      return fail(Code::bad_request,
                  "admission webhook " + go_quote(webhook.name) + " does not support dry run");
    WebhookCall call;
    call.key = webhook.id + "\n" + json::serialize(review);
    auto known = scope_.memo->answers.find(call.key);
    if (known == scope_.memo->answers.end())
      return request_answer(webhook, std::move(review), std::move(call));
    if (!known->second)
      return settled(webhook, failed_call(webhook, known->second.error().message));
    const json::Value& response = *known->second;
    if (const json::Array* warnings = json::array_at(response, {"warnings"}))
      for (const json::Value& one : *warnings)
        if (one.is_string()) scope_.warnings.emplace_back(json::sv(one.get_string()));
    if (const json::Object* annotations = json::object_at(response, {"auditAnnotations"}))
      for (const auto& one : *annotations)
        if (one.value().is_string())
          scope_.memo->audit_annotations[webhook.name + "/" + std::string(one.key())] =
              json::sv(one.value().get_string());
    if (!json::bool_at(response, {"allowed"})) return std::unexpected(denial_of(webhook, response));
    return response;
  }

 private:
  // Steps of this process stand where the webhook's own program would.
  bool is_answered_here(const json::Value& client) const {
    const auto* answered = scope_.services.answered_here;
    return answered && *answered &&
           (*answered)(json::string_at(client, {"service", "namespace"}),
                       json::string_at(client, {"service", "name"}));
  }

  static Result<std::optional<json::Value>> settled(const Webhook& webhook, Error error) {
    if (webhook.ignores_failure) return std::nullopt;
    return std::unexpected(std::move(error));
  }

  Result<std::optional<json::Value>> request_answer(const Webhook& webhook, json::Value review,
                                                    WebhookCall call) {
    const json::Value* client = json::find(webhook.spec, "clientConfig");
    if (!client) return settled(webhook, failed_call(webhook, "no clientConfig"));
    const std::int64_t seconds =
        std::clamp<std::int64_t>(json::int_at(webhook.spec, {"timeoutSeconds"}, 10), 1, 30);
    if (Result<void> addressed =
            address_call(*client, std::chrono::seconds(seconds), *request_.reader, call);
        !addressed) {
      if (is_answered_here(*client)) return std::nullopt;
      return settled(
          webhook, failed_call(webhook, "failed to call webhook: Post " + go_quote(call.shown_url) +
                                            ": " + addressed.error().message));
    }
    call.uid = uuid(scope_.memo->draws.source());
    json::Object with_uid{{"uid", call.uid}};
    for (auto& member : review.get_object())
      with_uid.emplace(member.key(), std::move(member.value()));
    call.body = json::serialize(json::Object{{"kind", "AdmissionReview"},
                                             {"apiVersion", "admission.k8s.io/v1"},
                                             {"request", std::move(with_uid)}});
    scope_.memo->wanted.push_back(std::move(call));
    return fail(Code::unavailable, "waiting for admission webhook " + go_quote(webhook.name));
  }

  WriteScope& scope_;
  const kube::AdmissionRequest& request_;
};

// True when the answer changed the object.
Result<bool> apply_answer(const Webhook& webhook, const json::Value& response,
                          json::Value& object) {
  const std::string patch = json::text_at(response, {"patch"});
  if (patch.empty()) return false;
  if (json::string_at(response, {"patchType"}) != "JSONPatch")
    return std::unexpected(
        failed_call(webhook, "webhook returned response.patch but not response.patchType"));
  std::optional<std::string> text = base64_decode(patch);
  Result<json::Value> operations =
      text ? json::parse(*text) : fail(Code::bad_request, "not base64");
  if (!operations) return std::unexpected(failed_call(webhook, operations.error().message));
  json::Value changed = object;
  if (Result<void> applied = json::apply_json_patch(changed, *operations); !applied)
    return std::unexpected(
        Error{Code::internal, "Internal error occurred: " + applied.error().message});
  if (!changed.is_object())
    return std::unexpected(failed_call(webhook, "the patch leaves no object"));
  const bool differs = !json::equal(changed, object);
  object = std::move(changed);
  return differs;
}

}  // namespace

Result<void> address_call(const json::Value& config, std::chrono::seconds timeout,
                          const kube::AdmissionReader& reader, WebhookCall& call) {
  call.timeout = timeout;
  const std::string query = "timeout=" + std::to_string(timeout.count()) + "s";
  if (std::optional<std::string> ca = base64_decode(json::string_at(config, {"caBundle"})))
    call.ca_pem = *ca;
  if (std::string url = json::text_at(config, {"url"}); !url.empty()) {
    url = cleaned_url(url);
    call.url = url + (url.find('?') == std::string::npos ? "?" : "&") + query;
    call.shown_url = call.url;
    return {};
  }
  const kube::Key key{json::text_at(config, {"service", "namespace"}),
                      json::text_at(config, {"service", "name"})};
  const std::int64_t port = json::int_at(config, {"service", "port"}, 443);
  std::string path = json::text_at(config, {"service", "path"});
  if (!path.starts_with('/')) path.insert(0, "/");
  path += "?" + query;
  call.server_name = key.name + "." + key.ns + ".svc";
  call.shown_url = "https://" + call.server_name + ":" + std::to_string(port) + path;
  const std::string authority = TRY(service_authority(reader, key, port));
  call.to_pod = true;
  call.url = "https://" + authority + path;
  return {};
}

Result<json::Value> parse_answer(const WebhookCall& call, Result<net::Response> response) {
  if (!response)
    return fail(Code::internal,
                "Post " + go_quote(call.shown_url) + ": " +
                    (response.error().code == Code::timeout ? "context deadline exceeded"
                                                            : response.error().message));
  if (response->status < 200 || response->status > 299)
    return fail(Code::internal, "the server responded with the status code " +
                                    std::to_string(response->status) +
                                    " but did not return more information");
  return json::parse(response->body);
}

Result<json::Value> read_review(const WebhookCall& call, Result<net::Response> response) {
  auto refuse = [&](const std::string& why) { return fail(Code::internal, why); };
  Result<json::Value> review = parse_answer(call, std::move(response));
  if (!review) return refuse("failed to call webhook: " + review.error().message);
  if (json::string_at(*review, {"kind"}) != "AdmissionReview" ||
      json::string_at(*review, {"apiVersion"}) != "admission.k8s.io/v1")
    return refuse(
        "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
        "Kind=AdmissionReview, got " +
        json::text_at(*review, {"apiVersion"}) + ", Kind=" + json::text_at(*review, {"kind"}));
  const json::Value* answer = json::find(*review, "response");
  if (!answer || !answer->is_object()) return refuse("webhook response was absent");
  if (json::string_at(*answer, {"uid"}) != call.uid)
    return refuse("received invalid webhook response: expected response.uid=" + go_quote(call.uid) +
                  ", got " + go_quote(json::string_at(*answer, {"uid"})));
  return *answer;
}

bool webhooks_configured(const WriteScope& scope, bool mutating) {
  return !exempt(scope.resource()) &&
         !scope.services.configurations->at(scope.snapshot, scope.catalog, mutating)->empty();
}

Result<void> mutate_by_webhooks(WriteScope& scope, const kube::AdmissionRequest& request,
                                json::Value& object) {
  if (exempt(request.resource)) return {};
  const WebhookList webhooks =
      scope.services.configurations->at(scope.snapshot, scope.catalog, true);
  Invocation invocation(scope, request);
  // Webhooks that want to see what came after them are asked once more.
  std::vector<const Webhook*> waiting;
  bool changed_later = false;
  for (const Webhook& webhook : *webhooks) {
    std::optional<json::Value> response = TRY(invocation.run(webhook, object));
    if (!response) continue;
    if (request.operation == kube::Operation::remove &&
        !json::string_at(*response, {"patch"}).empty())
      return fail(Code::internal,
                  "Internal error occurred: admission webhook " + go_quote(webhook.name) +
                      " attempted to modify the object, which is not supported for this operation");
    const bool changed = TRY(apply_answer(webhook, *response, object));
    changed_later |= changed && !waiting.empty();
    if (json::string_at(webhook.spec, {"reinvocationPolicy"}) == "IfNeeded")
      waiting.push_back(&webhook);
  }
  if (!changed_later) return {};
  for (const Webhook* webhook : waiting)
    if (std::optional<json::Value> response = TRY(invocation.run(*webhook, object)))
      TRY(apply_answer(*webhook, *response, object));
  return {};
}

Result<void> validate_by_webhooks(WriteScope& scope, const kube::AdmissionRequest& request,
                                  const json::Value& object) {
  if (exempt(request.resource)) return {};
  const WebhookList webhooks =
      scope.services.configurations->at(scope.snapshot, scope.catalog, false);
  Invocation invocation(scope, request);
  std::optional<Error> denial;
  // All are asked at the same time; the first in order has the word.
  for (const Webhook& webhook : *webhooks)
    if (auto response = invocation.run(webhook, object); !response && !denial)
      denial = response.error();
  if (denial) return std::unexpected(std::move(*denial));
  return {};
}

}  // namespace hekla::apiserver
