// Admission and conversion over HTTPS for somebody's cluster: the steps, the certificate that looks
// after itself, and the listener that serves it.
#pragma once

#include <atomic>
#include <memory>

#include "admission/webhook_certificate.h"
#include "admission/webhook_server.h"
#include "cli/component_options.h"
#include "net/server.h"

namespace hekla {

// Lives on the client's executor, but for ready(); `options` must live longer.
class AdmissionFront {
  struct Private {};

 public:
  // Mistakes in the options are bad_request; check() finds them before there is a client.
  static Result<void> check(const cli::WebhookOptions& options);
  static Result<std::unique_ptr<AdmissionFront>> create(const cli::WebhookOptions& options,
                                                        kube::Client& client);
  AdmissionFront(Private, const cli::WebhookOptions& options, kube::Client& client,
                 admission::WebhookCertificateOptions chosen);
  ~AdmissionFront();
  void start();
  // From any thread: listens, and has read what reviews are answered from.
  bool ready() const { return ready_; }

 private:
  Result<void> serve(const KeyPair& certificate);
  void look_whether_ready();

  const cli::WebhookOptions& options_;
  kube::Client& client_;
  admission::WebhookServer webhooks_;
  std::unique_ptr<net::Server> server_;  // begun with the first certificate
  admission::WebhookCertificate certificate_;
  std::atomic<bool> ready_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla
