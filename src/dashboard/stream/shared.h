// Limits of the stream, and the parts of the dashboard that all its connections stand on.
#pragma once

#include "kube/authorizer.h"
#include "kube/client.h"
#include "kube/stream_topic.h"

namespace hekla::dashboard {

struct StreamLimits {
  std::size_t subscriptions = 64;              // of a connection
  std::size_t message_bytes = 64 * 1024;       // from the page
  std::size_t piece_bytes = 256 * 1024;        // of a message to the page, about
  std::size_t pending_bytes = 1024 * 1024;     // on the way to the page before it is waited for
  std::size_t waiting_changes = 20'000;        // of a subscription
  Nanos ask_again = std::chrono::seconds(30);  // may they still? and a ping
};

struct StreamShared {
  Executor& loop;
  kube::Client& client;
  kube::Authorizer& authorizer;
  kube::StreamTopics topics;
  StreamLimits limits;
};

}  // namespace hekla::dashboard
