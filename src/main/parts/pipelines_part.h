// Pipelines in the embedded platform: records, REST API, driver and launch server, on loops of
// their own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/authorizer.h"
#include "kube/client.h"
#include "kube/pod_streams.h"
#include "kube/stream_topic.h"
#include "kube/web_route.h"
#include "net/listener.h"
#include "pipelines/object_bytes.h"

namespace hekla {

class StandingObjects;

struct PipelinesOptions {
  std::string data_dir;
  std::string listen;   // of the REST API in plain HTTP; empty: nowhere
  std::string gateway;  // the pods' side of this process
  std::function<Result<net::Socket>(std::uint16_t port)> listen_for_pods;
  pipelines::ObjectBytes* objects = nullptr;
  kube::PodStreams* streams = nullptr;  // reaches the logs of steps
  StandingObjects* standing = nullptr;  // gets what pods find it by
  // Made for the loop that the driver lives on.
  kube::ClientFactory make_client;
  // Kinds that are served, and who may do what: for steps of Workflows that write objects.
  const kube::Discovery* discovery = nullptr;
  kube::Authorizer* authorizer = nullptr;
};

class PipelinesPart {
  struct Private {};
  struct State;

 public:
  // Blocks until everything serves.
  static Result<std::unique_ptr<PipelinesPart>> start(PipelinesOptions options);
  PipelinesPart(Private, std::unique_ptr<State> state);
  // Stops what stop() has not.
  ~PipelinesPart();
  void stop();
  // The API on the front door, for whoever is logged in or has a token.
  kube::WebRoutes routes();
  // The page's stream tells of them by it.
  kube::StreamTopic topic();

 private:
  std::unique_ptr<State> state_;
};

}  // namespace hekla
