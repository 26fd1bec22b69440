// The steps that make, change or remove an object: calls of the API, no pods. They may do what the
// run's service account may.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/authorizer.h"
#include "kube/client.h"
#include "pipelines/engine/engine.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::driver {

struct ResourceOptions {
  kube::Client* client = nullptr;
  const kube::Discovery* discovery = nullptr;
  kube::Authorizer* authorizer = nullptr;
};

struct ResourceJob {
  ir::ResourceStep step;  // everything filled in
  std::string mark;       // of this attempt: an object that has it was made by it
  std::string ns, service_account;
  engine::NodeEnd end;           // id and attempt; completed for `done`
  std::function<bool()> wanted;  // false: nobody waits for the end any more
  std::function<void(engine::NodeEnd)> done;
};

// Lives on the client's executor, where `done` is called, once if the job is wanted until then.
class ResourceSteps {
 public:
  explicit ResourceSteps(ResourceOptions options) : options_(options) {}
  void start(ResourceJob job) const;

 private:
  ResourceOptions options_;
};

// Whether "status.succeeded > 0, status.phase == Done" holds for the object. Errors are for people.
Result<bool> condition_holds(const std::string& condition, const json::Value& object);

}  // namespace hekla::pipelines::driver
