// A certificate the webhook server makes for itself: kept in a Secret, so that every replica serves
// the same one, told to the API server in the webhook configurations, and renewed before it ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/review.h"
#include "base/crypto.h"

namespace hekla::admission {

struct CertificateData {
  std::string ca_pem;  // one or two certificates, the newest first
  std::string ca_key_pem;
  KeyPair server;
};

struct WebhookCertificateOptions {
  kube::Key secret{"volcano-system", "volcano-admission-secret"};
  Registration registration;  // but for the CA
  std::vector<const Step*> steps;
  std::vector<std::string> ip_addresses;  // besides the service's names
  // A ClusterRole that the registrations belong to, so that they go when an installation is taken
  // away: without a server behind them nothing could be written. Empty: to nobody.
  std::string owner;
  std::chrono::hours lifetime{24 * 365};
  Nanos look_every{std::chrono::minutes(10)};  // at the secret, for a renewal by another replica
  std::optional<CertificateData> given;        // somebody else's, which is neither kept nor renewed
};

// The secret's content for a server of these names, made or renewed as need be; `kept` (the
// secret's data, may be empty) is returned as it is while more than a third of its time is left.
// The CA stays for as long as it lasts; a new one is trusted beside the old one.
Result<CertificateData> current_certificate(const CertificateData& kept,
                                            const WebhookCertificateOptions& options,
                                            const Clock& clock);

// Lives on the client's executor.
class WebhookCertificate {
 public:
  using Serve = std::function<Result<void>(const KeyPair&)>;
  // `serve` gets the certificate to use from now on, at first and after each change, again when it
  // failed; the webhooks are registered only after it has succeeded.
  WebhookCertificate(kube::Client& client, WebhookCertificateOptions options, Serve serve);
  ~WebhookCertificate();
  void start();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::admission
