// coordination.k8s.io/v1 Lease, certificates.k8s.io/v1 CertificateSigningRequest.
#include "apiserver/field_error.h"
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"
#include "apiserver/kinds/signing_request.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

std::vector<Cause> validate_lease(const json::Value& object) {
  Rules rules;
  Field spec = Field(object, "")["spec"];
  if (spec["leaseDurationSeconds"].present()) rules.positive(spec["leaseDurationSeconds"]);
  if (spec["leaseTransitions"].present()) rules.not_negative(spec["leaseTransitions"]);
  return std::move(rules.causes);
}

std::string request_state(const json::Value& request) {
  std::vector<std::string> states;
  bool approved = false, denied = false, failed = false;
  if (const json::Array* conditions = json::array_at(request, {"status", "conditions"}))
    for (const json::Value& condition : *conditions) {
      std::string_view type = json::string_at(condition, {"type"});
      approved = approved || type == "Approved";
      denied = denied || type == "Denied";
      failed = failed || type == "Failed";
    }
  if (denied)
    states.emplace_back("Denied");
  else if (approved)
    states.emplace_back("Approved");
  else
    states.emplace_back("Pending");
  if (failed) states.emplace_back("Failed");
  if (!json::string_at(request, {"status", "certificate"}).empty()) states.emplace_back("Issued");
  return join(states, ",");
}

Kind signing_request_kind() {
  Kind kind = cluster_kind("certificates.k8s.io", "v1", "certificatesigningrequests",
                           "CertificateSigningRequest", "io.k8s.api.certificates.v1");
  kind.short_names = {"csr"};
  kind.has_status = true;
  kind.columns = columns({"Age", "SignerName", "Requestor", "RequestedDuration", "Condition"});
  kind.cells = [](const json::Value& object, WallTime now) -> json::Array {
    const json::Value* seconds = json::find_path(object, {"spec", "expirationSeconds"});
    std::string lasting = "<none>";
    if (seconds != nullptr && seconds->is_int64())
      lasting = model::human_duration(std::chrono::seconds(seconds->get_int64()));
    return {json::Value(age(object, now)),
            json::Value(text_or(object, {"spec", "signerName"}, "<none>")),
            json::Value(json::string_at(object, {"spec", "username"})), json::Value(lasting),
            json::Value(request_state(object))};
  };
  kind.selectable = {{"spec.signerName", field_at({"spec", "signerName"})}};
  kind.prepare_update = [](json::Value& object, const json::Value&, const WriteContext& context) {
    if (context.subresource != "approval") return;
    json::Value* conditions = nullptr;
    if (json::Value* status = object.get_object().if_contains("status"); status && status->is_object())
      conditions = status->get_object().if_contains("conditions");
    if (!conditions || !conditions->is_array()) return;
    for (json::Value& one : conditions->get_array()) {
      if (!one.is_object()) continue;
      for (std::string_view member : {"lastUpdateTime", "lastTransitionTime"})
        if (json::Value& time = one.get_object()[member]; time.is_null())
          time = model::format_rfc3339(context.now);
    }
  };
  kind.validate = [](const json::Value& object) {
    Rules rules;
    Field spec = Field(object, "")["spec"];
    rules.need_text(spec["request"]);
    rules.need_text(spec["signerName"]);
    if (spec["usages"].items().empty()) rules.required(spec["usages"]);
    return std::move(rules.causes);
  };
  kind.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["spec"], Field(old, "")["spec"]);
    return std::move(rules.causes);
  };
  return kind;
}

json::Array conditions_of_type(const json::Value& request, std::string_view type) {
  json::Array found;
  if (const json::Array* conditions = json::array_at(request, {"status", "conditions"}))
    for (const json::Value& one : *conditions)
      if (json::string_at(one, {"type"}) == type) found.push_back(one);
  return found;
}

}  // namespace

std::vector<Cause> validate_verdict(const json::Value& request, const json::Value& old, bool on_approval) {
  Rules rules;
  const Field field = Field(request, "")["status"]["conditions"];
  for (const std::string type : {"Approved", "Denied", "Failed"}) {
    const json::Array before = conditions_of_type(old, type), now = conditions_of_type(request, type);
    const bool may_be_given = type == "Failed" || on_approval;
    const std::string what = " a condition of type " + go_quote(type);
    if (now.size() < before.size())
      rules.forbidden(field, "updates may not remove" + what);
    else if (!may_be_given && now.size() > before.size())
      rules.forbidden(field, "updates may not add" + what);
    else if (!may_be_given && now != before)
      rules.forbidden(field, "updates may not modify" + what);
  }
  return std::move(rules.causes);
}

void add_coordination_kinds(Kinds& kinds) {
  Kind lease =
      builtin_kind("coordination.k8s.io", "v1", "leases", "Lease", "io.k8s.api.coordination.v1");
  lease.create_on_update = true;
  lease.unconditional_update = false;
  lease.known_finalizers = false;
  lease.columns = columns({"Holder", "Age"});
  lease.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "holderIdentity"})),
            json::Value(age(object, now))};
  };
  lease.validate = validate_lease;
  add(kinds, std::move(lease));
  add(kinds, signing_request_kind());
}

}  // namespace hekla::apiserver
