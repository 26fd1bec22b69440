// Answers admission reviews over HTTP: the steps as vc-webhook-manager serves them. Reviews are
// answered on the client's loop from watched queues, namespaces and the admission configuration;
// what a step asks for and the caches do not have is asked of the API server once, so that a job
// applied right after its queue finds it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/review.h"
#include "kube/informer.h"
#include "net/http.h"

namespace hekla::admission {

// Lives on the client's executor.
class WebhookServer {
 public:
  WebhookServer(kube::Client& client, Settings settings, std::vector<const Step*> steps);
  ~WebhookServer();
  void start();
  // True when reviews can be answered.
  bool synced() const;
  // For net::Server; may be called on any thread for as long as this lives.
  net::Handler handler();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::admission
