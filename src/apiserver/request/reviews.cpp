#include "apiserver/request/reviews.h"

#include <algorithm>

#include "apiserver/kinds/unstored.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/read/reads.h"
#include "apiserver/read/render.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/rest_writes.h"
#include "apiserver/schema/facts.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"
#include "apiserver/text/user_info.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/stages/decode.h"
#include "base/check.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

constexpr std::int64_t kDefaultTokenSeconds = 3600, kShortestTokenSeconds = 600,
                       kLongestTokenSeconds = std::int64_t{1} << 32;

KindPtr token_request_kind() {
  static const KindPtr made = [] {
    auto kind = std::make_shared<Kind>();
    kind->resource = {"authentication.k8s.io", "v1", "tokenrequests", "TokenRequest", true};
    kind->schema = builtin_type("io.k8s.api.authentication.v1.TokenRequest");
    return kind;
  }();
  return made;
}

// The question as its kind has it: what it does not know is told of, or refused, as of any object.
Result<json::Value> read_question(Exchange& exchange, const Kind& kind) {
  std::vector<std::string> problems;
  Result<json::Value> body = parse_body(exchange.request, &problems);
  if (!body)
    return std::unexpected(unreadable_body(exchange.request, kind.resource.kind, body.error()));
  json::Value question = std::move(*body);
  const bool of_account = !exchange.info.subresource.empty();
  TRY(match_request(kind, {exchange.info.ns, of_account ? exchange.info.name : ""}, question));
  const std::string cannot = cannot_handle(kind.resource);
  if (Result<void> typed = check_types(*kind.schema, question); !typed)
    return std::unexpected(bad_request_error(cannot + typed.error().message));
  std::vector<std::string> unknown = unknown_fields(*kind.schema, question);
  for (std::string& path : unknown) path = "unknown field " + go_quote(path);
  problems.insert(problems.begin(), unknown.begin(), unknown.end());
  const std::string_view wanted = exchange.request.query.get("fieldValidation");
  if (!problems.empty() && wanted == "Strict") {
    std::string text = problems.front();
    for (std::size_t i = 1; i < problems.size(); ++i) text += ", " + problems[i];
    return std::unexpected(bad_request_error(cannot + "strict decoding error: " + text));
  }
  if (wanted != "Ignore")
    exchange.warnings.insert(exchange.warnings.end(), problems.begin(), problems.end());
  prune(*kind.schema, question);
  normalize(*kind.schema, question);
  return question;
}

void answer_review(const ExchangePtr& exchange, json::Value review, json::Value status) {
  json::Object& object = review.is_object() ? review.get_object() : review.emplace_object();
  if (!object.contains("metadata")) object["metadata"].emplace_object();
  const WallTime now = exchange->serving.clock->wall();
  if (exchange->info.plural == "selfsubjectreviews") {
    object["metadata"].emplace_object().emplace("creationTimestamp", model::format_rfc3339(now));
  } else if (const KindPtr kind = unstored_kind_of(exchange->info)) {
    const net::Request& request = exchange->request;
    track_update(
        *kind, nullptr, review,
        {manager_name(request.query.get("fieldManager"), request.headers.get("User-Agent")),
         kind->resource.api_version(), ""},
        now);
  }
  object["status"] = std::move(status);
  exchange->respond(render_value(review, exchange->answer, 201));
}

RequestInfo asked_about(const json::Value& review) {
  RequestInfo info;
  if (const json::Value* resource = json::find_path(review, {"spec", "resourceAttributes"})) {
    info.is_resource = true;
    auto text = [&](std::string_view member) {
      return std::string(json::string_at(*resource, {member}));
    };
    info.verb = text("verb");
    info.group = text("group");
    info.version = text("version");
    info.plural = text("resource");
    info.subresource = text("subresource");
    info.name = text("name");
    info.ns = text("namespace");
  } else {
    info.verb = json::string_at(review, {"spec", "nonResourceAttributes", "verb"});
    info.path = json::string_at(review, {"spec", "nonResourceAttributes", "path"});
  }
  return info;
}

// Complaints about the question, by field.
std::vector<Cause> review_causes(const json::Value& review, const RequestInfo& info,
                                 std::string_view plural) {
  std::vector<Cause> causes;
  const auto given = [&](std::string_view member) {
    const json::Value* found = json::find_path(review, {"spec", member});
    return found && !found->is_null() ? found : nullptr;
  };
  const json::Value* resource = given("resourceAttributes");
  const json::Value* path = given("nonResourceAttributes");
  if ((resource != nullptr) == (path != nullptr))
    causes.push_back(invalid_value(
        "spec.resourceAttributes", resource ? *resource : json::Value(),
        resource ? "cannot be specified in combination with nonResourceAttributes"
                 : "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  if (plural == "selfsubjectaccessreviews") return causes;
  const json::Array* groups = json::array_at(review, {"spec", "groups"});
  if (json::string_at(review, {"spec", "user"}).empty() && (!groups || groups->empty()))
    causes.push_back(invalid_value("spec.user", json::Value(""),
                                   "at least one of user or group must be specified"));
  if (plural == "localsubjectaccessreviews" && path)
    causes.push_back(
        invalid_value("spec.nonResourceAttributes", *path, "disallowed on this kind of request"));
  if (plural == "localsubjectaccessreviews" && resource &&
      json::string_at(*resource, {"namespace"}) != info.ns)
    causes.push_back(invalid_value("spec.resourceAttributes.namespace",
                                   json::Value(json::string_at(*resource, {"namespace"})),
                                   "must match metadata.namespace"));
  return causes;
}

kube::UserInfo asked_user(const json::Value& review) {
  kube::UserInfo user{std::string(json::string_at(review, {"spec", "user"})),
                      std::string(json::string_at(review, {"spec", "uid"})),
                      {}};
  if (const json::Array* groups = json::array_at(review, {"spec", "groups"}))
    for (const json::Value& one : *groups)
      if (one.is_string()) user.groups.emplace_back(json::sv(one.get_string()));
  return user;
}

void access_review(const ExchangePtr& exchange, const json::Value& review) {
  const std::string& plural = exchange->info.plural;
  std::vector<Cause> causes = review_causes(review, exchange->info, plural);
  if (!causes.empty()) {
    const char* kind = plural.starts_with("self")    ? "SelfSubjectAccessReview"
                       : plural.starts_with("local") ? "LocalSubjectAccessReview"
                                                     : "SubjectAccessReview";
    return exchange->respond(
        invalid_object({"authorization.k8s.io", "v1", plural, kind, true}, "", std::move(causes)));
  }
  const bool self = plural == "selfsubjectaccessreviews";
  std::string why;
  const bool allowed = exchange->serving.authorizer->allows(
      self ? exchange->user : asked_user(review), asked_about(review), &why);
  json::Object status{{"allowed", allowed}};
  if (!why.empty()) status.emplace("reason", why);
  answer_review(exchange, review, std::move(status));
}

void rules_review(const ExchangePtr& exchange, const json::Value& review) {
  const std::string ns(json::string_at(review, {"spec", "namespace"}));
  if (ns.empty()) return exchange->respond(bad_request_error("no namespace on request"));
  json::Array resource_rules, path_rules;
  for (const PolicyRule& rule : exchange->serving.authorizer->rules_of(exchange->user, ns))
    (rule.urls.empty() ? resource_rules : path_rules).push_back(policy_rule_value(rule));
  answer_review(exchange, review,
                json::Object{{"resourceRules", std::move(resource_rules)},
                             {"nonResourceRules", std::move(path_rules)},
                             {"incomplete", false}});
}

std::vector<std::string> asked_audiences(const json::Value& request) {
  std::vector<std::string> audiences;
  if (const json::Array* given = json::array_at(request, {"spec", "audiences"}))
    for (const json::Value& one : *given)
      if (one.is_string()) audiences.emplace_back(json::sv(one.get_string()));
  return audiences;
}

json::Array text_list(const std::vector<std::string>& texts) {
  json::Array list;
  for (const std::string& one : texts) list.emplace_back(one);
  return list;
}

void token_review(const ExchangePtr& exchange, const json::Value& review) {
  const std::vector<std::string> audiences = asked_audiences(review);
  const std::string_view token = json::string_at(review, {"spec", "token"});
  const Authenticator& authenticator = *exchange->serving.authenticator;
  Result<kube::UserInfo> user = authenticator.authenticate_token(token, audiences);
  if (!user)
    return answer_review(exchange, review,
                         json::Object{{"user", json::Object()}, {"error", "invalid bearer token"}});
  // Of the audiences asked about, those the token is for.
  const auto all = exchange->serving.tokens->audiences_of(token);
  std::vector<std::string> meant;
  for (const std::string& one : audiences)
    if (all.contains(one)) meant.push_back(one);
  if (audiences.empty()) meant.push_back(exchange->serving.tokens->issuer());
  answer_review(
      exchange, review,
      json::Object{
          {"authenticated", true}, {"user", user_value(*user)}, {"audiences", text_list(meant)}});
}

// Binds the token to the object the request names, which must be there.
Result<void> bind_token(const ExchangePtr& exchange, const json::Value& request,
                        TokenSubject& subject) {
  const json::Value* ref = json::find_path(request, {"spec", "boundObjectRef"});
  if (!ref || !ref->is_object()) return {};
  const std::string kind(json::string_at(*ref, {"kind"})), name(json::string_at(*ref, {"name"}));
  const std::string wanted_uid(json::string_at(*ref, {"uid"}));
  if (kind != "Pod" && kind != "Secret")
    return std::unexpected(bad_request_error("cannot bind token to object of type " +
                                             std::string(json::string_at(*ref, {"apiVersion"})) +
                                             ", Kind=" + kind));
  ServedPtr served =
      exchange->serving.registry->catalog()->find("", "v1", kind == "Pod" ? "pods" : "secrets");
  store::ItemPtr item = TRY(get_object(*exchange->serving.store, *served, {subject.ns, name}));
  const std::string& uid = header_of(*item).uid;
  if (!wanted_uid.empty() && wanted_uid != uid)
    return std::unexpected(conflict_error(served->kind->resource, name,
                                          "the UID in the bound object reference (" + wanted_uid +
                                              ") does not match the UID in record. The object "
                                              "might have been deleted and then recreated"));
  if (kind == "Secret") {
    subject.secret_name = name;
    subject.secret_uid = uid;
    return {};
  }
  const json::Value pod = decode_object(*served, *item);
  if (json::string_at(pod, {"spec", "serviceAccountName"}) != subject.name)
    return std::unexpected(
        bad_request_error("cannot bind token for serviceaccount \"" + subject.name +
                          "\" to pod running with different serviceaccount name."));
  subject.pod_name = name;
  subject.pod_uid = uid;
  add_node(*exchange->serving.store, *exchange->serving.registry->catalog(), subject);
  return {};
}

Result<json::Value> issue_token(const ExchangePtr& exchange, json::Value& request) {
  const RequestInfo& info = exchange->info;
  ServedPtr accounts = exchange->serving.registry->catalog()->find("", "v1", "serviceaccounts");
  if (!accounts) return std::unexpected(no_such_resource_error());
  store::ItemPtr account =
      TRY(get_object(*exchange->serving.store, *accounts, {info.ns, info.name}));
  std::vector<std::string> audiences = asked_audiences(request);
  if (audiences.empty()) audiences.push_back(exchange->serving.tokens->issuer());
  const std::int64_t seconds =
      json::int_at(request, {"spec", "expirationSeconds"}, kDefaultTokenSeconds);
  const bool too_short = seconds < kShortestTokenSeconds;
  if (too_short || seconds > kLongestTokenSeconds)
    return std::unexpected(invalid_object(
        {"authentication.k8s.io", "v1", "tokenrequests", "TokenRequest", true}, "",
        {invalid_value("spec.expirationSeconds", json::Value(seconds),
                       too_short ? "may not specify a duration less than 10 minutes"
                                 : "may not specify a duration larger than 2^32 seconds")}));
  TokenSubject subject;
  subject.ns = info.ns;
  subject.name = info.name;
  subject.uid = header_of(*account).uid;
  TRY(bind_token(exchange, request, subject));
  std::string token = TRY(exchange->serving.tokens->issue(subject, audiences, seconds));
  json::at_path(request, {"spec", "audiences"}) = text_list(audiences);
  json::at_path(request, {"spec", "expirationSeconds"}) = seconds;
  const WallTime expires = exchange->serving.clock->wall() + std::chrono::seconds(seconds);
  return json::Object{{"token", token}, {"expirationTimestamp", model::format_rfc3339(expires)}};
}

void token_request(const ExchangePtr& exchange, json::Value request) {
  Result<json::Value> status = issue_token(exchange, request);
  if (!status) return exchange->respond(status.error());
  answer_review(exchange, std::move(request), std::move(*status));
}

// Reviews have neither tables nor bare metadata.
bool wants_only_shapes(const net::Request& request) {
  const std::vector<MediaClause> clauses = parse_accept(request.headers.get("Accept"));
  return !clauses.empty() && std::all_of(clauses.begin(), clauses.end(),
                                         [](const MediaClause& one) { return !one.as.empty(); });
}

// The question; nothing when its refusal has been answered.
std::optional<json::Value> asked_question(const ExchangePtr& exchange, const Kind& kind) {
  Result<json::Value> question = read_question(*exchange, kind);
  if (question && wants_only_shapes(exchange->request))
    question =
        fail(Code::not_acceptable, "only the following media types are accepted: application/json");
  if (!question) {
    exchange->respond(question.error());
    return std::nullopt;
  }
  exchange->answer.pretty = wants_pretty(exchange->request);
  return std::move(*question);
}

}  // namespace

void serve_review(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  const KindPtr kind = unstored_kind_of(info);
  CHECK(kind, "reviews are routed by their kinds");
  std::optional<json::Value> asked = asked_question(exchange, *kind);
  if (!asked) return;
  if (info.plural.ends_with("subjectaccessreviews"))
    access_review(exchange, *asked);
  else if (info.plural == "selfsubjectrulesreviews")
    rules_review(exchange, *asked);
  else if (info.plural == "selfsubjectreviews")
    answer_review(exchange, *asked, json::Object{{"userInfo", user_value(exchange->user)}});
  else
    token_review(exchange, *asked);
}

void serve_token_request(const ExchangePtr& exchange) {
  if (std::optional<json::Value> asked = asked_question(exchange, *token_request_kind()))
    token_request(exchange, std::move(*asked));
}

}  // namespace hekla::apiserver
