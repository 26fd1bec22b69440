#include "apiserver/request/audit.h"

#include <algorithm>

#include "apiserver/object/metadata.h"
#include "apiserver/read/protobuf.h"
#include "apiserver/request/exchange.h"
#include "apiserver/request/request_body.h"
#include "apiserver/text/user_info.h"
#include "base/log.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

// Reports the stages of an answer on its way.
class AuditedWriter final : public net::ResponseWriter {
 public:
  AuditedWriter(std::shared_ptr<net::ResponseWriter> inner, std::shared_ptr<AuditRecord> record)
      : inner_(std::move(inner)), record_(std::move(record)) {}
  ~AuditedWriter() override {
    if (begun_) record_->complete(0, {});
  }
  void respond(net::Response response) override {
    net::complete_body(response);
    record_->complete(response.status, response.body);
    inner_->respond(std::move(response));
  }
  void begin(int status, net::Headers headers) override {
    begun_ = true;
    record_->started(status);
    inner_->begin(status, std::move(headers));
  }
  using ResponseWriter::write;
  void write(net::SharedBytes chunk) override { inner_->write(std::move(chunk)); }
  void end() override {
    record_->complete(0, {});
    inner_->end();
  }
  void abort() override {
    record_->complete(0, {});
    inner_->abort();
  }
  std::size_t pending_bytes() const override { return inner_->pending_bytes(); }
  void on_drained(std::function<void()> drained) override {
    inner_->on_drained(std::move(drained));
  }
  void on_closed(std::function<void()> closed) override { inner_->on_closed(std::move(closed)); }
  bool is_closed() const override { return inner_->is_closed(); }
  void upgrade(net::Headers headers, std::function<void(std::string_view)> on_data) override {
    begun_ = true;
    record_->started(101);
    inner_->upgrade(std::move(headers), std::move(on_data));
  }
  void pause_input(bool paused) override { inner_->pause_input(paused); }

 private:
  const std::shared_ptr<net::ResponseWriter> inner_;
  const std::shared_ptr<AuditRecord> record_;
  std::atomic<bool> begun_ = false;
};

std::string request_uri(const net::Request& request) {
  std::string query = request.query.encode();
  return query.empty() ? request.path : request.path + "?" + query;
}

json::Value object_ref(const RequestInfo& info, const json::Value& body) {
  json::Object ref;
  auto put = [&](std::string_view member, std::string_view value) {
    if (!value.empty()) ref.emplace(member, value);
  };
  put("resource", info.plural);
  put("namespace", info.ns);
  put("name", info.name.empty() ? meta_string(body, "name") : info.name);
  put("uid", meta_string(body, "uid"));
  put("apiGroup", info.group);
  put("apiVersion", info.version);
  put("resourceVersion", meta_string(body, "resourceVersion"));
  put("subresource", info.subresource);
  return ref;
}

// Bodies of writes; null when there is none or it cannot be read.
json::Value request_body(const Exchange& exchange) {
  if (!exchange.info.is_resource || exchange.request.body.empty()) return nullptr;
  Result<json::Value> body = parse_body(exchange.request, nullptr);
  return body && (body->is_object() || body->is_array()) ? std::move(*body) : json::Value();
}

json::Value answered_object(std::string_view body) {
  Result<json::Value> value = body.starts_with("k8s") ? decode_protobuf(body) : json::parse(body);
  return value && value->is_object() ? std::move(*value) : json::Value();
}

// The Status of a failure as it was answered, or the code alone.
json::Value response_status(int code, const json::Value& answer) {
  if (json::string_at(answer, {"kind"}) != "Status")
    return json::Object{{"metadata", json::Object()}, {"code", code}};
  json::Value status = answer;
  status.get_object().erase("kind");
  status.get_object().erase("apiVersion");
  status.get_object()["code"] = code;
  return status;
}

}  // namespace

Result<std::shared_ptr<AuditLog>> AuditLog::open(const AuditOptions& options, const Clock& clock) {
  AuditPolicy policy = AuditPolicy::metadata_of_everything();
  if (!options.policy_yaml.empty()) policy = TRY(AuditPolicy::parse(options.policy_yaml));
  return std::make_shared<AuditLog>(
      std::move(policy), TRY(RotatingFile::open(options.log_path, options.rotation, clock)), clock);
}

void AuditLog::attach(Exchange& exchange, const kube::UserInfo* asked_by) {
  AuditDecision decision = policy_.decide(exchange.user, exchange.info);
  if (decision.level == AuditLevel::none) return;
  // The body of an unknown sender is not read for the log's sake.
  const json::Value body = exchange.user.name.empty() ? json::Value() : request_body(exchange);
  json::Object base{
      {"kind", "Event"}, {"apiVersion", "audit.k8s.io/v1"}, {"level", text_of(decision.level)}};
  base.emplace("auditID", exchange.audit_id);
  base.emplace("stage", "");
  base.emplace("requestURI", request_uri(exchange.request));
  base.emplace("verb", exchange.info.verb);
  base.emplace("user", user_value(asked_by ? *asked_by : exchange.user));
  if (asked_by) base.emplace("impersonatedUser", user_value(exchange.user));
  base.emplace("sourceIPs", json::Array{json::Value(exchange.request.remote_address)});
  base.emplace("userAgent", exchange.request.headers.get("User-Agent"));
  if (exchange.info.is_resource) base.emplace("objectRef", object_ref(exchange.info, body));
  base.emplace("requestReceivedTimestamp", model::format_rfc3339_micro(clock_.wall()));
  const bool wants_body = decision.level >= AuditLevel::request && !body.is_null();
  auto record =
      std::make_shared<AuditRecord>(exchange.serving.audit, std::move(decision), std::move(base));
  exchange.audit = record;
  exchange.writer = std::make_shared<AuditedWriter>(std::move(exchange.writer), record);
  record->received();
  if (wants_body) record->set_request(body);
}

void AuditLog::write(const json::Value& event) {
  if (Result<void> written = file_->append(json::serialize(event) + "\n"); !written)
    log_error("apiserver", "an audit event is lost", {{"error", written.error().message}});
}

void AuditRecord::received() {
  std::lock_guard lock(mutex_);
  emit("RequestReceived", nullptr);
}

void AuditRecord::set_request(json::Value body) {
  std::lock_guard lock(mutex_);
  base_.emplace("requestObject", shown(std::move(body)));
}

void AuditRecord::annotate(std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex_);
  json::Value& annotations = base_["annotations"];
  if (!annotations.is_object()) annotations.emplace_object();
  annotations.get_object()[key] = value;
}

void AuditRecord::started(int code) {
  std::lock_guard lock(mutex_);
  code_ = code;
  const json::Value none;
  base_["responseStatus"] = response_status(code, none);
  emit("ResponseStarted", nullptr);
}

void AuditRecord::complete(int code, std::string_view body) {
  std::lock_guard lock(mutex_);
  if (std::exchange(completed_, true)) return;
  if (code == 0) code = code_;
  const bool wants_body = decision_.level == AuditLevel::request_response;
  json::Value answer = wants_body || code >= 400 ? answered_object(body) : json::Value();
  base_["responseStatus"] = response_status(code, answer);
  emit("ResponseComplete", wants_body && !answer.is_null() ? &answer : nullptr);
}

// With the lock held.
void AuditRecord::emit(std::string_view stage, const json::Value* answer) {
  const auto& omitted = decision_.omitted_stages;
  if (std::find(omitted.begin(), omitted.end(), stage) != omitted.end()) return;
  json::Object event = base_;
  event["stage"] = stage;
  event["stageTimestamp"] = model::format_rfc3339_micro(log_->clock_.wall());
  if (answer) event["responseObject"] = shown(*answer);
  log_->write(json::Value(std::move(event)));
}

json::Value AuditRecord::shown(json::Value object) const {
  if (!decision_.omit_managed_fields || !object.is_object()) return object;
  auto strip = [](json::Value& one) {
    if (json::Value* metadata =
            one.is_object() ? one.get_object().if_contains("metadata") : nullptr)
      if (metadata->is_object()) metadata->get_object().erase("managedFields");
  };
  strip(object);
  if (json::Value* items = object.get_object().if_contains("items"); items && items->is_array())
    for (json::Value& one : items->get_array()) strip(one);
  return object;
}

}  // namespace hekla::apiserver
