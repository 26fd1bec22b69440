// /hekla/v1/stream: the one WebSocket of a tab. Subscriptions to resources and topics, each
// authorised as the visitor, begin with a snapshot and go on with changes; a cursor resumes them
// after the connection was lost. message.h has the form.
//
// A reader that falls behind is not sent more than it takes: its snapshot waits, its changes gather
// up to a limit, and beyond that it gets a new snapshot instead.
#pragma once

#include <memory>

#include "dashboard/stream/shared.h"
#include "kube/web_route.h"

namespace hekla::dashboard {

// The client and the authorizer belong to the loop, which outlives all connections; connections
// live there. `serve` may be called on any thread.
class Streams {
 public:
  Streams(Executor& loop, kube::Client& client, kube::Authorizer& authorizer,
          kube::StreamTopics topics, StreamLimits limits = {});
  void serve(kube::WebExchange exchange);

 private:
  std::shared_ptr<StreamShared> shared_;
};

}  // namespace hekla::dashboard
