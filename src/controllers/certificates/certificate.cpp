#include "controllers/certificates/certificate.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/certificate.h"
#include "base/signing_request.h"
#include "controllers/certificates/issuer.h"
#include "framework/condition.h"
#include "model/time.h"

namespace hekla::controllers::certificates {
namespace {

using framework::AnyObject;
using framework::Child;
using framework::Outcome;
using framework::View;
using json::Object;
namespace resources = kube::resources;

constexpr Nanos kUsualDuration = std::chrono::hours(24 * 90);
constexpr std::string_view kPrefix = "cert-manager.io/";

class FixedClock final : public Clock {
 public:
  explicit FixedClock(WallTime now) : now_(now) {}
  WallTime wall() const override { return now_; }
  MonoTime mono() const override { return {}; }

 private:
  WallTime now_;
};

std::vector<std::string> texts(const json::Value& spec, std::string_view member) {
  std::vector<std::string> out;
  if (const json::Array* all = json::array_at(spec, {member}))
    for (const json::Value& one : *all)
      if (one.is_string()) out.emplace_back(json::sv(one.get_string()));
  return out;
}

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : ",") + one;
  return out;
}

Nanos duration_at(const json::Value& spec, std::string_view member, Nanos otherwise) {
  Result<Nanos> given = model::parse_go_duration(json::text_at(spec, {member}));
  return given && *given > Nanos(0) ? *given : otherwise;
}

CertificateOrder order_of(const json::Value& spec) {
  CertificateOrder order;
  CertificateRequest& request = order.request;
  request.common_name = json::text_at(spec, {"commonName"});
  if (const json::Value* subject = json::find(spec, "subject"))
    request.organizations = texts(*subject, "organizations");
  request.dns_names = texts(spec, "dnsNames");
  request.ip_addresses = texts(spec, "ipAddresses");
  order.for_authority = json::bool_at(spec, {"isCA"});
  const std::vector<std::string> usages = texts(spec, "usages");
  const auto uses = [&](std::string_view one) {
    return std::ranges::find(usages, one) != usages.end();
  };
  request.for_server = uses("server auth");
  request.for_client = uses("client auth");
  order.valid_for = std::chrono::duration_cast<std::chrono::seconds>(
      duration_at(spec, "duration", kUsualDuration));
  return order;
}

std::string issuer_kind(const json::Value& spec) {
  const std::string kind = json::text_at(spec, {"issuerRef", "kind"});
  return kind.empty() ? "Issuer" : kind;
}

framework::AnyRef issuer_of(const AnyObject& certificate, const View& view) {
  const std::string name = json::text_at(certificate.spec, {"issuerRef", "name"});
  if (issuer_kind(certificate.spec) == "ClusterIssuer")
    return view.find(cluster_issuers, {"", name});
  return view.find(issuers, {certificate.metadata.ns, name});
}

// Annotations of the Secret, by which it is known whether the certificate in it still fits.
Object annotations_of(const AnyObject& certificate) {
  const json::Value& spec = certificate.spec;
  const auto named = [](std::string_view name) { return std::string(kPrefix) + std::string(name); };
  return {{named("certificate-name"), certificate.metadata.name},
          {named("common-name"), json::text_at(spec, {"commonName"})},
          {named("alt-names"), joined(texts(spec, "dnsNames"))},
          {named("ip-sans"), joined(texts(spec, "ipAddresses"))},
          {named("issuer-name"), json::text_at(spec, {"issuerRef", "name"})},
          {named("issuer-kind"), issuer_kind(spec)},
          {named("issuer-group"), "cert-manager.io"}};
}

struct Validity {
  WallTime begin, end, renewal;
};

Result<Validity> validity_of(const AnyObject& certificate, const std::string& pem) {
  const Nanos duration = duration_at(certificate.spec, "duration", kUsualDuration);
  const Nanos before = duration_at(certificate.spec, "renewBefore", duration / 3);
  const WallTime end = TRY(certificate_end(pem));
  return Validity{end - duration, end, end - std::min(before, duration)};
}

// Why the Secret has to be made; empty: it holds what is asked for.
std::string why_to_issue(const AnyObject& certificate, const AnyObject* secret, WallTime now) {
  const std::string name = json::text_at(certificate.spec, {"secretName"});
  if (!secret) return "Issuing certificate as Secret does not exist";
  for (const auto& one : annotations_of(certificate))
    if (secret->metadata.annotation(std::string(one.key())) != json::sv(one.value().get_string()))
      return "Issuing certificate as Secret " + name + " was made for another one";
  const std::string pem = secret_text(*secret, "tls.crt");
  if (pem.empty() || secret_text(*secret, "tls.key").empty())
    return "Issuing certificate as Secret does not contain a certificate and its key";
  Result<Validity> validity = validity_of(certificate, pem);
  if (!validity) return "Issuing certificate as Secret holds no certificate that can be read";
  return now >= validity->renewal ? "Renewing certificate as renewal was scheduled" : "";
}

Result<Child> issue(const AnyObject& certificate, const Signer& signer, WallTime now) {
  const FixedClock clock(now);
  const bool self = signer.ca.key_pem.empty();
  const KeyPair pair =
      TRY(issue_certificate(self ? nullptr : &signer.ca, order_of(certificate.spec), clock));
  std::string chain = pair.certificate_pem;
  if (!signer.ca_chain.empty()) chain += signer.ca.certificate_pem;
  const std::string& root = self                      ? pair.certificate_pem
                            : signer.ca_chain.empty() ? signer.ca.certificate_pem
                                                      : signer.ca_chain;
  Object metadata{{"name", json::text_at(certificate.spec, {"secretName"})},
                  {"annotations", annotations_of(certificate)}};
  if (const json::Object* labels = json::object_at(certificate.spec, {"secretTemplate", "labels"}))
    metadata["labels"] = *labels;
  return Child{.resource = resources::secrets,
               .body = Object{{"metadata", std::move(metadata)},
                              {"type", "kubernetes.io/tls"},
                              {"data", Object{{"tls.crt", base64_encode(chain)},
                                              {"tls.key", base64_encode(pair.key_pem)},
                                              {"ca.crt", base64_encode(root)}}}},
               .ownership = framework::Ownership::none};
}

Outcome not_ready(const AnyObject& certificate, const View& view, std::string reason,
                  std::string message) {
  framework::Conditions conditions(certificate.status, framework::kPlainConditions, view.now());
  conditions.set({"Ready", "False", std::move(reason), std::move(message)});
  Object status = certificate.status.is_object() ? certificate.status.get_object() : Object();
  status["conditions"] = conditions.list();
  Outcome outcome;
  outcome.status = std::move(status);
  return outcome;
}

Outcome ready(const AnyObject& certificate, const View& view, const Validity& validity) {
  framework::Conditions conditions(certificate.status, framework::kPlainConditions, view.now());
  conditions.set({"Ready", "True", "Ready", "Certificate is up to date and has not expired"});
  const std::string end = model::format_rfc3339(validity.end);
  const bool fresh = json::text_at(certificate.status, {"notAfter"}) != end;
  Outcome outcome;
  outcome.status =
      Object{{"conditions", conditions.list()},
             {"notBefore", model::format_rfc3339(validity.begin)},
             {"notAfter", end},
             {"renewalTime", model::format_rfc3339(validity.renewal)},
             {"revision", json::int_at(certificate.status, {"revision"}) + (fresh ? 1 : 0)}};
  outcome.again_after = std::max(validity.renewal - view.now(), Nanos(std::chrono::seconds(1)));
  return outcome;
}

Result<Outcome> reconcile(const AnyObject& certificate, const View& view) {
  const std::string name = json::text_at(certificate.spec, {"secretName"});
  if (name.empty()) return not_ready(certificate, view, "InvalidSpec", "spec.secretName is needed");
  const auto secret = view.find(resources::secrets, {certificate.metadata.ns, name});
  const std::string why = why_to_issue(certificate, secret.get(), view.now());
  if (why.empty())
    return ready(certificate, view, TRY(validity_of(certificate, secret_text(*secret, "tls.crt"))));
  const framework::AnyRef issuer = issuer_of(certificate, view);
  if (!issuer)
    return not_ready(certificate, view, "IssuerNotFound",
                     issuer_kind(certificate.spec) + " \"" +
                         json::text_at(certificate.spec, {"issuerRef", "name"}) + "\" not found");
  const Signer signer = signer_of(*issuer, view);
  if (!signer.ready) return not_ready(certificate, view, "IssuerNotReady", signer.message);
  Result<Child> made = issue(certificate, signer, view.now());
  if (!made) return not_ready(certificate, view, "Failed", made.error().message);
  Outcome outcome = not_ready(certificate, view, "Issuing", why);
  outcome.children.push_back(std::move(*made));
  outcome.tell_with_status("Normal", "Issuing", why);
  return outcome;
}

}  // namespace

framework::KindDescription certificate_description() {
  framework::KindDescription kind;
  kind.name = "certificate-controller";
  kind.event_source = "cert-manager-certificates";
  kind.resource = certificate_kind;
  kind.optional = true;
  kind.owns = {{.resource = resources::secrets, .wakes = false}};
  const auto wake_namespace = [](const AnyObject* before, const AnyObject* after,
                                 const framework::Wake& wake) {
    const model::ObjectMeta& changed = (after ? after : before)->metadata;
    if (changed.ns.empty())
      wake.all();
    else
      wake.all_in(changed.ns);
  };
  kind.follows = {
      framework::follow<AnyObject>(resources::secrets, wake_namespace),
      framework::follow<AnyObject>(issuers, wake_namespace, {.optional = true}),
      framework::follow<AnyObject>(cluster_issuers, wake_namespace, {.optional = true})};
  kind.reconcile = reconcile;
  return kind;
}

}  // namespace hekla::controllers::certificates
