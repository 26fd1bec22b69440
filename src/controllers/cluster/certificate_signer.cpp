#include "controllers/cluster/certificate_signer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/signing_request.h"
#include "controllers/vocabulary.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "model/meta.h"
#include "model/time.h"

namespace hekla::controllers {
namespace {

const kube::Resource kRequests{"certificates.k8s.io", "v1", "certificatesigningrequests",
                               "CertificateSigningRequest", false};
constexpr std::string_view kSigner = "kubernetes.io/kube-apiserver-client";
constexpr std::chrono::hours kLongest{24 * 365};
// How long a request stays: settled, and without an answer.
constexpr std::chrono::hours kSettledStays{1}, kPendingStays{24};

struct CsrSpec {
  std::string request, signerName;
  std::vector<std::string> usages;
  std::optional<std::int64_t> expirationSeconds;
};
BOOST_DESCRIBE_STRUCT(CsrSpec, (), (request, signerName, usages, expirationSeconds))
struct CsrStatus {
  std::string certificate;
  std::vector<json::Value> conditions;
};
BOOST_DESCRIBE_STRUCT(CsrStatus, (), (certificate, conditions))
struct SigningRequestObject {
  model::ObjectMeta metadata;
  CsrSpec spec;
  CsrStatus status;
};
BOOST_DESCRIBE_STRUCT(SigningRequestObject, (), (metadata, spec, status))
using RequestRef = std::shared_ptr<const SigningRequestObject>;

const json::Value* condition(const SigningRequestObject& request, std::string_view type) {
  auto found = std::ranges::find_if(request.status.conditions, [&](const json::Value& one) {
    return json::string_at(one, {"type"}) == type;
  });
  return found == request.status.conditions.end() ? nullptr : &*found;
}

// When it is to go; nothing for one that has been approved and still waits for its certificate.
std::optional<WallTime> end_of(const SigningRequestObject& request) {
  if (request.status.conditions.empty()) {
    if (!request.metadata.creationTimestamp.at) return std::nullopt;
    return *request.metadata.creationTimestamp.at + kPendingStays;
  }
  for (std::string_view type : {"Denied", "Failed", "Approved"}) {
    const json::Value* settled = condition(request, type);
    if (!settled || (type == "Approved" && request.status.certificate.empty())) continue;
    if (auto at = model::parse_rfc3339(json::string_at(*settled, {"lastUpdateTime"})))
      return *at + kSettledStays;
  }
  return std::nullopt;
}

Result<ClientUsage> client_usage(const std::vector<std::string>& usages) {
  ClientUsage usage;
  bool client = false;
  for (const std::string& one : usages) {
    if (one == "digital signature")
      usage.digital_signature = true;
    else if (one == "key encipherment")
      usage.key_encipherment = true;
    else if (one == "client auth")
      client = true;
    else
      return fail(Code::bad_request, "invalid usage for client certificate: " + one);
  }
  if (!client)
    return fail(Code::bad_request, "missing required usage for client certificate: client auth");
  return usage;
}

}  // namespace

struct CertificateSigner::State {
  kube::Client& client;
  KeyPair ca;
  kube::Informer<SigningRequestObject> requests;
  kube::ReconcileLoop loop;

  State(kube::Client& c, KeyPair pair)
      : client(c),
        ca(std::move(pair)),
        requests(c, kRequests),
        loop(
            c, kube::ReconcileOptions{.name = "csrsigning-kube-apiserver-client"},
            [this](const kube::Key& key, WallTime now) { return reconcile(key, now); },
            [this](const kube::Write& write, const kube::ObjectPtr& result) {
              requests.overlay(write, result);
            }) {}

  void start() {
    requests.on_change([this](const RequestRef&, const RequestRef& now) {
      if (now) loop.add({"", now->metadata.name});
    });
    requests.on_settled([this] {
      if (requests.synced()) loop.enable();
    });
    requests.start();
  }

  kube::Round reconcile(const kube::Key& key, WallTime now) {
    kube::Round round;
    RequestRef request = requests.get(key);
    if (!request || request->metadata.deletionTimestamp) return round;
    if (std::optional<WallTime> end = end_of(*request)) {
      if (*end <= now)
        round.writes.push_back(remove(kRequests, key, request->metadata.uid));
      else
        round.again_after = std::chrono::duration_cast<Nanos>(*end - now);
    }
    const bool wanted = condition(*request, "Approved") && !condition(*request, "Denied") &&
                        !condition(*request, "Failed") && request->status.certificate.empty();
    if (wanted && request->spec.signerName == kSigner)
      round.writes.push_back(answer(key, *request, now));
    return round;
  }

  kube::Write answer(const kube::Key& key, const SigningRequestObject& request, WallTime now) {
    Result<std::string> certificate = sign(request);
    if (certificate)
      return patch(key, request, json::Object{{"certificate", base64_encode(*certificate)}});
    const std::string time = model::format_rfc3339(now);
    json::Array conditions(request.status.conditions.begin(), request.status.conditions.end());
    conditions.push_back(json::Object{{"type", "Failed"},
                                      {"status", "True"},
                                      {"reason", "SignerValidationFailure"},
                                      {"message", certificate.error().message},
                                      {"lastUpdateTime", time},
                                      {"lastTransitionTime", time}});
    return patch(key, request, json::Object{{"conditions", std::move(conditions)}});
  }

  // Of the very request that was judged: another of the same name has not been approved.
  static kube::Write patch(const kube::Key& key, const SigningRequestObject& request,
                           json::Object status) {
    return merge_patch(
        kRequests, key,
        json::Object{
            {"metadata", json::Object{{"uid", request.metadata.uid},
                                      {"resourceVersion", request.metadata.resourceVersion}}},
            {"status", std::move(status)}},
        "status");
  }

  Result<std::string> sign(const SigningRequestObject& request) {
    const ClientUsage usage = TRY(client_usage(request.spec.usages));
    const std::optional<std::string> pem = base64_decode(request.spec.request);
    const std::chrono::seconds asked(
        request.spec.expirationSeconds.value_or(kLongest / std::chrono::seconds(1)));
    const std::chrono::seconds valid =
        std::clamp<std::chrono::seconds>(asked, std::chrono::minutes(10), kLongest);
    return sign_client_request(ca, pem.value_or(""), usage, valid, client.executor().clock());
  }
};

CertificateSigner::CertificateSigner(kube::Client& client, KeyPair ca)
    : state_(std::make_shared<State>(client, std::move(ca))) {}
CertificateSigner::~CertificateSigner() = default;
void CertificateSigner::start() { state_->start(); }

}  // namespace hekla::controllers
