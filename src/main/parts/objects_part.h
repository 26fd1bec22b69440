// The object store in the embedded platform: S3 for pods at minio-service.kubeflow:9000, for this
// machine on loopback.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "net/listener.h"
#include "pipelines/object_bytes.h"

namespace hekla {

class StandingObjects;

struct ObjectsOptions {
  std::string data_dir;
  std::string listen;   // on this machine; empty: 127.0.0.1 and the port of the last start
  std::string gateway;  // the pods' side of this process
  std::function<Result<net::Socket>(std::uint16_t port)> listen_for_pods;
  StandingObjects* standing = nullptr;  // gets what pods find it by
  kube::ClientFactory make_client;
};

class ObjectsPart {
  struct Private {};
  struct State;

 public:
  // Blocks until everything serves.
  static Result<std::unique_ptr<ObjectsPart>> start(ObjectsOptions options);
  ObjectsPart(Private, std::unique_ptr<State> state);
  // Stops what stop() has not.
  ~ObjectsPart();
  void stop();

  // The same objects for pipelines.
  pipelines::ObjectBytes& artifacts();
  // "http://127.0.0.1:9000": for programs on this machine.
  const std::string& url() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace hekla
