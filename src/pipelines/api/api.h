// The REST API of pipelines. Requests come with a user whom somebody has authenticated; answers are
// made on the records' loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/rng.h"
#include "net/http.h"
#include "net/server_options.h"
#include "records/records.h"

namespace hekla::pipelines::api {

struct ApiOptions {
  records::Records* records = nullptr;
  Executor* executor = nullptr;  // where answers are finished
  Rng* rng = nullptr;
  // Runs that were made, changed or removed, after that is durable; on the executor.
  std::function<void(const std::vector<std::string>& ids)> touched = {};
  // A list has changed: "experiments", "pipelines", "runs", "recurringruns"; on the executor.
  std::function<void(const std::string& list)> changed = {};
};

// Thread-safe; must outlive the requests it was given.
class Api {
 public:
  explicit Api(ApiOptions options);
  ~Api();
  // /apis/v2beta1/... and /apis/v1beta1/..., nothing else; must not block, and does not.
  void handle(net::Request request, std::shared_ptr<net::ResponseWriter> writer);
  // Recurring runs are made when they are due, from now on.
  void start_schedules();
  // Bodies of up to 32 MiB for uploads.
  static net::RouteRules rules(const net::Request& head);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::api
