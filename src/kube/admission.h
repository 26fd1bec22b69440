// The request as an admission step sees it and may change it. Steps are plugged into our API server
// by main, or served as an HTTPS webhook on a real cluster; they know neither.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/user.h"

namespace hekla::kube {

enum class Operation { create, update, remove, connect };

using UserInfo = User;

using SharedValue = std::shared_ptr<const json::Value>;

// Reads other objects as of now. A missing object is not_found. What is read is shared: every pod
// asks for the same namespace, account and priority classes.
class AdmissionReader {
 public:
  virtual ~AdmissionReader() = default;
  virtual Result<SharedValue> get(const Resource& resource, const Key& key) const = 0;
  virtual Result<std::vector<SharedValue>> list(const Resource& resource,
                                                const std::string& ns) const = 0;
};

struct AdmissionRequest {
  Operation operation = Operation::create;
  Resource resource;
  std::string subresource;
  Resource sent_kind =
      {};  // of what is sent to a subresource and is not the object itself: Binding, PodExecOptions
  Key key;
  const json::Value* old_object = nullptr;  // update and remove
  UserInfo user;
  bool dry_run = false;
  WallTime now;
  const AdmissionReader* reader = nullptr;
  std::vector<std::string>* warnings = nullptr;  // shown by kubectl as "Warning: ..."
};

struct AdmissionStep {
  std::string_view name;  // "validatejob.volcano.sh": stands in the denial's text
  std::function<bool(const Resource&, Operation, std::string_view subresource)> matches;
  // Mutating steps may edit; the first error denies the request.
  std::function<Result<void>(const AdmissionRequest&, json::Value& object)> mutate;
  std::function<Result<void>(const AdmissionRequest&, const json::Value& object)> validate;
};

}  // namespace hekla::kube
