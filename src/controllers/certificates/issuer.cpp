#include "controllers/certificates/issuer.h"

#include "base/bytes.h"
#include "framework/condition.h"

namespace hekla::controllers::certificates {

using framework::AnyObject;
using framework::Outcome;
using framework::View;
namespace resources = kube::resources;

const kube::Resource issuers{"cert-manager.io", "v1", "issuers", "Issuer"};
const kube::Resource cluster_issuers{"cert-manager.io", "v1", "clusterissuers", "ClusterIssuer",
                                     false};
const kube::Resource certificate_kind{"cert-manager.io", "v1", "certificates", "Certificate"};

namespace {

Signer authority_of(const std::string& secret_name, const std::string& ns, const View& view) {
  Signer signer;
  signer.reason = "ErrGetKeyPair";
  const auto secret = view.find(resources::secrets, {ns, secret_name});
  if (!secret) {
    signer.message =
        "Error getting keypair for CA issuer: secrets \"" + secret_name + "\" not found";
    return signer;
  }
  signer.ca = {secret_text(*secret, "tls.crt"), secret_text(*secret, "tls.key")};
  if (signer.ca.certificate_pem.empty() || signer.ca.key_pem.empty()) {
    signer.reason = "ErrInvalidKeyPair";
    signer.message = "Error getting keypair for CA issuer: secret \"" + secret_name +
                     "\" has no tls.crt and tls.key";
    return signer;
  }
  const std::string above = secret_text(*secret, "ca.crt");
  if (above != signer.ca.certificate_pem) signer.ca_chain = above;
  signer.ready = true;
  signer.reason = "KeyPairVerified";
  signer.message = "Signing CA verified";
  return signer;
}

// Issuers that a CA's Secret concerns: those of its namespace, or of the cluster.
void wake_issuers(const kube::Resource& resource, const model::ObjectMeta& secret,
                  const framework::Wake& wake) {
  if (resource.namespaced)
    wake.all_in(secret.ns);
  else if (secret.ns == kClusterNamespace)
    wake.all();
}

}  // namespace

std::string secret_text(const AnyObject& secret, std::string_view key) {
  const json::Value* data = secret.rest.if_contains("data");
  if (!data) return {};
  return base64_decode(json::string_at(*data, {key})).value_or("");
}

Signer signer_of(const AnyObject& issuer, const View& view) {
  if (json::object_at(issuer.spec, {"selfSigned"}))
    return {.ready = true, .reason = "IsReady", .message = "", .ca = {}, .ca_chain = {}};
  if (json::object_at(issuer.spec, {"ca"}))
    return authority_of(json::text_at(issuer.spec, {"ca", "secretName"}),
                        issuer.metadata.ns.empty() ? kClusterNamespace : issuer.metadata.ns, view);
  return {.ready = false,
          .reason = "NotSupported",
          .message = "Hekla signs for selfSigned and ca issuers only",
          .ca = {},
          .ca_chain = {}};
}

framework::KindDescription issuer_description(const kube::Resource& resource) {
  framework::KindDescription kind;
  kind.name = resource.namespaced ? "issuer-controller" : "cluster-issuer-controller";
  kind.resource = resource;
  kind.optional = true;
  kind.follows = {framework::follow<AnyObject>(
      resources::secrets,
      [resource](const AnyObject* before, const AnyObject* after, const framework::Wake& wake) {
        wake_issuers(resource, (after ? after : before)->metadata, wake);
      })};
  kind.reconcile = [](const AnyObject& issuer, const View& view) -> Result<Outcome> {
    const Signer signer = signer_of(issuer, view);
    framework::Conditions conditions(issuer.status, framework::kPlainConditions, view.now());
    conditions.set({"Ready", signer.ready ? "True" : "False", signer.reason, signer.message});
    Outcome outcome;
    outcome.status = json::Object{{"conditions", conditions.list()}};
    return outcome;
  };
  return kind;
}

}  // namespace hekla::controllers::certificates
