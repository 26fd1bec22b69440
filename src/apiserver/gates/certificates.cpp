#include "apiserver/gates/certificates.h"

#include <algorithm>

#include "apiserver/text/errors.h"
#include "base/bytes.h"
#include "base/crypto.h"

namespace hekla::apiserver {
namespace {

using kube::AdmissionRequest;
using kube::Operation;

constexpr std::string_view kGroup = "certificates.k8s.io";
constexpr std::string_view kApiClientSigner = "kubernetes.io/kube-apiserver-client";

// On the signer itself, or on all of its domain.
bool may(const RequestAuthorizer& authorizer, const kube::UserInfo& user, const std::string& verb,
         const std::string& signer) {
  RequestInfo info;
  info.is_resource = true;
  info.verb = verb;
  info.group = kGroup;
  info.version = "*";
  info.plural = "signers";
  for (const std::string& name : {signer, signer.substr(0, signer.find('/')) + "/*"}) {
    info.name = name;
    if (authorizer.allows(user, info, nullptr)) return true;
  }
  return false;
}

Result<void> confirm(const RequestAuthorizer& authorizer, const AdmissionRequest& request,
                     const std::string& verb) {
  // The old object's: nobody chooses here which right is asked for.
  const std::string signer = json::text_at(*request.old_object, {"spec", "signerName"});
  if (may(authorizer, request.user, verb, signer)) return {};
  return std::unexpected(forbidden_error(
      request.resource, request.key.name,
      "user not permitted to " + verb + " requests with signerName \"" + signer + "\""));
}

bool same_member(const json::Value& a, const json::Value& b, std::string_view member) {
  static const json::Value kNone;
  const json::Value *x = json::find_path(a, {"status", member}),
                    *y = json::find_path(b, {"status", member});
  return json::equal(x ? *x : kNone, y ? *y : kNone);
}

Result<void> signing(const RequestAuthorizer& authorizer, const AdmissionRequest& request,
                     const json::Value& object) {
  const json::Value& old = *request.old_object;
  if (same_member(object, old, "certificate") && same_member(object, old, "conditions")) return {};
  return confirm(authorizer, request, "sign");
}

Result<void> restrict_subject(const AdmissionRequest& request, const json::Value& object) {
  if (json::string_at(object, {"spec", "signerName"}) != kApiClientSigner) return {};
  auto refuse = [&](const std::string& why) {
    return std::unexpected(forbidden_error(request.resource, request.key.name, why));
  };
  const std::optional<std::string> pem =
      base64_decode(json::string_at(object, {"spec", "request"}));
  Result<std::vector<std::string>> groups = signing_request_organizations(pem.value_or(""));
  if (!groups) return refuse("failed to parse CSR: " + groups.error().message);
  if (std::ranges::find(*groups, "system:masters") != groups->end())
    return refuse("use of " + std::string(kApiClientSigner) +
                  " signer with system:masters group is not allowed");
  return {};
}

}  // namespace

std::vector<kube::AdmissionStep> certificate_admission(const RequestAuthorizer& authorizer) {
  auto on = [](Operation wanted, std::string_view path) {
    return [wanted, path](const kube::Resource& resource, Operation operation,
                          std::string_view subresource) {
      return operation == wanted && subresource == path && resource.group == kGroup &&
             resource.plural == "certificatesigningrequests";
    };
  };
  std::vector<kube::AdmissionStep> steps;
  steps.push_back({"CertificateApproval", on(Operation::update, "approval"), nullptr,
                   [&authorizer](const AdmissionRequest& request, const json::Value&) {
                     return confirm(authorizer, request, "approve");
                   }});
  steps.push_back({"CertificateSigning", on(Operation::update, "status"), nullptr,
                   [&authorizer](const AdmissionRequest& request, const json::Value& object) {
                     return signing(authorizer, request, object);
                   }});
  steps.push_back(
      {"CertificateSubjectRestriction", on(Operation::create, ""), nullptr, restrict_subject});
  return steps;
}

}  // namespace hekla::apiserver
