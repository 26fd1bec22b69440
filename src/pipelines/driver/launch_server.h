// Answers launchers (docs/formats/launch.md): tasks, objects in and out, results. A token is good
// for one attempt of one step.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "json/value.h"
#include "net/http.h"
#include "net/server_options.h"
#include "pipelines/object_bytes.h"

namespace hekla::pipelines::driver {

struct ObjectPlace {
  std::string bucket, key;
};

// The rights of one attempt.
struct LaunchGrant {
  json::Value task;
  std::vector<ObjectPlace> reads;   // each itself and everything below it
  std::vector<ObjectPlace> writes;  // the same
  ObjectPlace result;
};

// Thread-safe. Must outlive the server that calls it; destroyed when that has stopped.
class LaunchServer {
 public:
  explicit LaunchServer(ObjectBytes& objects);
  ~LaunchServer();

  void grant(const std::string& token, LaunchGrant grant);
  void revoke(const std::string& token);

  void handle(net::Request request, std::shared_ptr<net::ResponseWriter> writer);
  static net::RouteRules rules(const net::Request& head);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::driver
