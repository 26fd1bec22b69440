#include "admission/review.h"

#include "base/bytes.h"

namespace hekla::admission {
namespace {

const kube::Resource kMutating{"admissionregistration.k8s.io", "v1",
                               "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
                               false};
const kube::Resource kValidating{"admissionregistration.k8s.io", "v1",
                                 "validatingwebhookconfigurations",
                                 "ValidatingWebhookConfiguration", false};

Result<kube::Operation> operation_of(std::string_view text) {
  if (text == "CREATE") return kube::Operation::create;
  if (text == "UPDATE") return kube::Operation::update;
  if (text == "DELETE") return kube::Operation::remove;
  return fail(Code::bad_request,
              "request.operation " + std::string(text) + " is not reviewed here");
}

Result<kube::AdmissionRequest> request_of(const json::Value& request) {
  kube::AdmissionRequest out;
  out.operation = TRY(operation_of(json::string_at(request, {"operation"})));
  out.resource = {json::text_at(request, {"resource", "group"}),
                  json::text_at(request, {"resource", "version"}),
                  json::text_at(request, {"resource", "resource"}),
                  json::text_at(request, {"kind", "kind"}),
                  !json::string_at(request, {"namespace"}).empty()};
  out.subresource = json::string_at(request, {"subResource"});
  out.key = {json::text_at(request, {"namespace"}), json::text_at(request, {"name"})};
  if (const json::Value* old = json::find(request, "oldObject"); old && old->is_object())
    out.old_object = old;
  out.user.name = json::string_at(request, {"userInfo", "username"});
  out.user.uid = json::string_at(request, {"userInfo", "uid"});
  out.dry_run = json::bool_at(request, {"dryRun"});
  return out;
}

std::string escaped(std::string_view member) {
  std::string out;
  for (char c : member) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

void add_operation(json::Array& patch, const char* op, const std::string& path,
                   const json::Value* value) {
  json::Object one{{"op", op}, {"path", path}};
  if (value) one["value"] = *value;
  patch.push_back(std::move(one));
}

void add_differences(const json::Value& from, const json::Value& to, const std::string& path,
                     json::Array& patch) {
  if (json::equal(from, to)) return;
  if (!from.is_object() || !to.is_object()) return add_operation(patch, "replace", path, &to);
  for (const auto& member : from.get_object())
    if (!to.get_object().contains(member.key()))
      add_operation(patch, "remove", path + "/" + escaped(member.key()), nullptr);
  for (const auto& member : to.get_object()) {
    std::string below = path + "/" + escaped(member.key());
    if (const json::Value* before = from.get_object().if_contains(member.key()))
      add_differences(*before, member.value(), below, patch);
    else
      add_operation(patch, "add", below, &member.value());
  }
}

// The resources and operations a step is about, as the rules of a webhook configuration.
json::Array rules_of(const Step& step) {
  using kube::Operation;
  json::Array rules;
  for (const kube::Resource* resource : step.resources) {
    if (resource == nullptr) continue;
    json::Array operations;
    for (auto [operation, name] :
         {std::pair{Operation::create, "CREATE"}, std::pair{Operation::update, "UPDATE"},
          std::pair{Operation::remove, "DELETE"}})
      if (step.matches(*resource, operation, "")) operations.push_back(json::Value(name));
    const std::string_view version = step.every_version ? "*" : resource->version;
    rules.push_back(json::Object{{"apiGroups", json::Array{json::Value(resource->group)}},
                                 {"apiVersions", json::Array{json::Value(version)}},
                                 {"operations", std::move(operations)},
                                 {"resources", json::Array{json::Value(resource->plural)}},
                                 {"scope", "*"}});
  }
  return rules;
}

}  // namespace

json::Value client_config(std::string_view path, const Registration& registration) {
  json::Object config{{"caBundle", base64_encode(registration.ca_pem)}};
  if (!registration.url.empty())
    config["url"] = registration.url + std::string(path);
  else
    config["service"] = json::Object{{"name", registration.service_name},
                                     {"namespace", registration.ns},
                                     {"path", path},
                                     {"port", 443}};
  return config;
}

const Step* step_at(std::string_view path) {
  for (const Step* step : all_steps())
    if (step->path == path) return step;
  return nullptr;
}

json::Array json_patch_between(const json::Value& from, const json::Value& to) {
  json::Array patch;
  add_differences(from, to, "", patch);
  return patch;
}

Result<json::Value> answer_review(const Step& step, const json::Value& review,
                                  const ReviewContext& context) {
  const json::Value* asked = json::find(review, "request");
  if (json::string_at(review, {"kind"}) != "AdmissionReview" || !asked)
    return fail(Code::bad_request, "the body is no AdmissionReview with a request");
  kube::AdmissionRequest request = TRY(request_of(*asked));
  std::vector<std::string> warnings;
  request.now = context.now;
  request.reader = &context.reader;
  request.warnings = &warnings;
  const json::Value* object = json::find(*asked, "object");
  if (!object || !object->is_object()) object = request.old_object;
  if (!object) return fail(Code::bad_request, "the review shows no object");

  json::Object response{{"uid", json::text_at(*asked, {"uid"})}, {"allowed", true}};
  Result<void> done;
  // Matched again: a configuration may send more than the step is about.
  if (step.matches(request.resource, request.operation, request.subresource)) {
    if (step.mutate) {
      json::Value edited = *object;
      done = step.mutate(context.settings, request, edited);
      if (json::Array patch = json_patch_between(*object, edited); done && !patch.empty()) {
        response["patchType"] = "JSONPatch";
        response["patch"] = base64_encode(json::serialize(patch));
      }
    } else {
      done = step.validate(context.settings, request, *object);
    }
  }
  if (!done) {
    response["allowed"] = false;
    response["status"] = json::Object{{"message", done.error().message},
                                      {"code", http_status_of(done.error().code)}};
  }
  if (!warnings.empty()) {
    json::Array list;
    for (const std::string& warning : warnings) list.push_back(json::Value(warning));
    response["warnings"] = std::move(list);
  }
  return json::Object{{"apiVersion", "admission.k8s.io/v1"},
                      {"kind", "AdmissionReview"},
                      {"response", std::move(response)}};
}

std::vector<WebhookObject> webhook_configurations(const std::vector<const Step*>& steps,
                                                  const Registration& registration) {
  std::vector<WebhookObject> objects;
  for (const Step* step : steps) {
    const kube::Resource& resource = step->mutate ? kMutating : kValidating;
    std::string name = registration.service_name;
    for (char c : step->path) name += c == '/' ? '-' : c;
    json::Object webhook{
        {"name", step->name},
        {"admissionReviewVersions", json::Array{json::Value("v1")}},
        {"clientConfig", client_config(step->path, registration)},
        {"failurePolicy", "Fail"},
        {"matchPolicy", "Equivalent"},
        {"namespaceSelector",
         json::Object{
             {"matchExpressions",
              json::Array{json::Object{{"key", "kubernetes.io/metadata.name"},
                                       {"operator", "NotIn"},
                                       {"values", json::Array{json::Value(registration.ns),
                                                              json::Value("kube-system")}}}}}}},
        {"rules", rules_of(*step)},
        {"sideEffects", "None"},
        {"timeoutSeconds", 10}};
    objects.push_back({resource, json::Object{{"apiVersion", resource.api_version()},
                                              {"kind", resource.kind},
                                              {"metadata", json::Object{{"name", name}}},
                                              {"webhooks", json::Array{std::move(webhook)}}}});
  }
  return objects;
}

}  // namespace hekla::admission
