// coordination.k8s.io/v1 Lease, certificates.k8s.io/v1 CertificateSigningRequest.
#include <algorithm>
#include <set>

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "base/bytes.h"
#include "base/signing_request.h"
#include "model/names.h"
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

const std::vector<std::string>& known_usages() {
  static const std::vector<std::string> kUsages{"any",
                                                "cert sign",
                                                "client auth",
                                                "code signing",
                                                "content commitment",
                                                "crl sign",
                                                "data encipherment",
                                                "decipher only",
                                                "digital signature",
                                                "email protection",
                                                "encipher only",
                                                "ipsec end system",
                                                "ipsec tunnel",
                                                "ipsec user",
                                                "key agreement",
                                                "key encipherment",
                                                "microsoft sgc",
                                                "netscape sgc",
                                                "ocsp signing",
                                                "s/mime",
                                                "server auth",
                                                "signing",
                                                "timestamping"};
  return kUsages;
}

// Reports the first bad part of a dotted text.
void report_parts(const Field& signer, std::string_view text,
                  std::vector<std::string> (*errors)(std::string_view), Rules& rules) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::vector<std::string> found = errors(part);
    for (const std::string& why : found)
      rules.invalid(signer, json::Value(text), "validating label " + go_quote(part) + ": " + why);
    if (!found.empty()) return;
    begin = end + 1;
  }
}

// "example.com/signer"
void validate_signer_name(const Field& signer, Rules& rules) {
  constexpr std::size_t kLongestDomain = 253, kLongest = 253 + 1 + 63 + 1 + 253;
  const std::string_view name = signer.text();
  if (name == "kubernetes.io/legacy-unknown")
    return rules.invalid(signer, "the legacy signerName is not allowed via this API version");
  if (!rules.need_text(signer)) return;
  if (std::ranges::count(name, '/') != 1)
    return rules.invalid(
        signer, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  const std::string_view domain = name.substr(0, name.find('/')),
                         path = name.substr(domain.size() + 1);
  if (domain.size() > kLongestDomain)
    rules.causes.push_back(too_long(signer.path(), kLongestDomain));
  report_parts(signer, domain, model::dns1123_label_errors, rules);
  if (domain.find('.') == std::string_view::npos)
    rules.invalid(signer, json::Value(domain),
                  "should be a domain with at least two segments separated by dots");
  report_parts(signer, path, model::dns1123_subdomain_errors, rules);
  if (name.size() > kLongest) rules.causes.push_back(too_long(signer.path(), kLongest));
}

std::vector<Cause> validate_signing_request(const json::Value& object) {
  Rules rules;
  const Field spec = Field(object, "")["spec"], usages = spec["usages"];
  const std::optional<std::string> pem = base64_decode(spec["request"].text());
  if (Result<void> checked = check_signing_request(pem.value_or("")); !checked)
    rules.invalid(spec["request"], checked.error().message);
  if (usages.items().empty()) rules.required(usages);
  for (std::size_t i = 0; i < usages.items().size(); ++i)
    if (std::ranges::find(known_usages(), usages.at(i).text()) == known_usages().end())
      rules.unsupported(usages.at(i), known_usages());
  std::set<std::string> seen;
  for (std::size_t i = 0; i < usages.items().size(); ++i) rules.unique(seen, usages.at(i));
  validate_signer_name(spec["signerName"], rules);
  if (const Field seconds = spec["expirationSeconds"]; seconds.present() && seconds.number() < 600)
    rules.invalid(seconds, "may not specify a duration less than 600 seconds (10 minutes)");
  return std::move(rules.causes);
}

json::Array conditions_of_type(const json::Value& request, std::string_view type) {
  json::Array found;
  if (const json::Array* conditions = json::array_at(request, {"status", "conditions"}))
    for (const json::Value& one : *conditions)
      if (json::string_at(one, {"type"}) == type) found.push_back(one);
  return found;
}

// Approval and denial are given on /approval alone, and nothing takes them back.
std::vector<Cause> validate_verdict(const json::Value& request, const json::Value& old,
                                    std::string_view subresource) {
  Rules rules;
  const Field field = Field(request, "")["status"]["conditions"];
  for (const std::string type : {"Approved", "Denied", "Failed"}) {
    const json::Array before = conditions_of_type(old, type),
                      now = conditions_of_type(request, type);
    const bool may_be_given = type == "Failed" || subresource == "approval";
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

Kind signing_request_kind() {
  Kind kind = cluster_kind("certificates.k8s.io", "v1", "certificatesigningrequests",
                           "CertificateSigningRequest", "io.k8s.api.certificates.v1");
  kind.short_names = {"csr"};
  kind.traits.has_status = true;
  kind.subresources = {{.name = "approval",
                        .group = kind.resource.group,
                        .version = kind.resource.version,
                        .kind = kind.resource.kind,
                        .verbs = {"get", "patch", "update"}}};
  kind.rules.validate_change = validate_verdict;
  kind.printing.columns =
      columns({"Age", "SignerName", "Requestor", "RequestedDuration", "Condition"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
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
  kind.rules.prepare_update = [](json::Value& object, const json::Value&,
                                 const WriteContext& context) {
    if (context.subresource != "approval") return;
    json::Value* conditions = nullptr;
    if (json::Value* status = object.get_object().if_contains("status");
        status && status->is_object())
      conditions = status->get_object().if_contains("conditions");
    if (!conditions || !conditions->is_array()) return;
    for (json::Value& one : conditions->get_array()) {
      if (!one.is_object()) continue;
      for (std::string_view member : {"lastUpdateTime", "lastTransitionTime"})
        if (json::Value& time = one.get_object()[member]; time.is_null())
          time = model::format_rfc3339(context.now);
    }
  };
  kind.rules.validate = validate_signing_request;
  kind.rules.validate_update = [](const json::Value& object, const json::Value& old) {
    Rules rules;
    rules.immutable(Field(object, "")["spec"], Field(old, "")["spec"]);
    return std::move(rules.causes);
  };
  return kind;
}

void add_coordination_kinds(Kinds& kinds) {
  Kind lease =
      builtin_kind("coordination.k8s.io", "v1", "leases", "Lease", "io.k8s.api.coordination.v1");
  lease.traits.create_on_update = true;
  lease.traits.unconditional_update = false;
  lease.traits.known_finalizers = false;
  lease.printing.columns = columns({"Holder", "Age"});
  lease.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    return {json::Value(json::string_at(object, {"spec", "holderIdentity"})),
            json::Value(age(object, now))};
  };
  lease.rules.validate = validate_lease;
  add(kinds, std::move(lease));
  add(kinds, signing_request_kind());
}

}  // namespace

extern const KindGroup kinds_coordination;
const KindGroup kinds_coordination{add_coordination_kinds};

}  // namespace hekla::apiserver
