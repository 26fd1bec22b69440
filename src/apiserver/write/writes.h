// The write engine: takes requests as values, prepares them against a snapshot, commits them
// together and answers with outcomes. A lost race is prepared again where the request allows it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "apiserver/object/write_request.h"
#include "apiserver/object/write_scope.h"
#include "base/executor.h"
#include "store/store.h"

namespace hekla::apiserver {

class Crds;

class Writes {
 public:
  Writes(store::Store& store, Registry& registry, WriteServices services, Crds* crds)
      : store_(store), registry_(registry), services_(services), crds_(crds) {}

  // Replaces the transport the server came with.
  void set_webhook_transport(WebhookTransport* transport) { services_.webhooks = transport; }

  using Done = std::move_only_function<void(std::vector<WriteOutcome>)>;

  // Any thread. The first round is prepared in the call itself; later ones, and `done`, run on
  // `continuation`. When nothing had to be committed, `done` runs before run() returns.
  //
  // Requests take effect in order. Those that concern the same object, and those that fail while
  // earlier ones are not yet committed (a pod in a namespace made by the same batch), wait for the
  // commit and are prepared again.
  void run(std::vector<WriteRequest> requests, Executor& continuation, Done done);

 private:
  class Run;
  store::Store& store_;
  Registry& registry_;
  WriteServices services_;
  Crds* crds_;
};

}  // namespace hekla::apiserver
