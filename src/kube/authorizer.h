// May user U do verb V on object O? Two implementations: RBAC in the process (the API server's own
// decision, ApiServer::authorizer), and SubjectAccessReviews of a real cluster (ReviewAuthorizer).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/user.h"

namespace hekla::kube {

// An act that somebody asks leave for: on an object or a collection, or to a path that is no
// resource.
struct Access {
  std::string verb;   // get, list, watch, create, update, patch, delete, ... as RBAC spells them
  Resource resource;  // group, version and plural count
  Key key;            // an empty name: the collection; an empty namespace: all of them
  std::string subresource = {};
  std::string path = {};  // instead of a resource: "/metrics"
};

struct Decision {
  bool allowed = false;
  std::string reason = {};  // may be empty
};

// Belongs to one executor: asked there and answering there.
class Authorizer {
 public:
  using Done = std::move_only_function<void(Result<Decision>)>;
  virtual ~Authorizer() = default;
  // `done` is called exactly once, and perhaps before this returns. An error means that nobody
  // could tell: the caller refuses, and may say so differently.
  virtual void may(const User& user, const Access& access, Done done) = 0;
};

struct ReviewOptions {
  // How long an answer is good for. A right that is taken away works on for that long.
  Nanos allowed_for = std::chrono::seconds(5), denied_for = std::chrono::seconds(1);
  std::size_t answers_max = 4096;  // kept; the oldest are forgotten first
  std::size_t waiting_max = 4096;  // questions under way; further ones fail at once
};

// Asks the API behind a client, which must be allowed to create SubjectAccessReviews. Equal
// questions under way are asked once.
class ReviewAuthorizer final : public Authorizer {
 public:
  explicit ReviewAuthorizer(Client& client, ReviewOptions options = {});
  ~ReviewAuthorizer() override;
  void may(const User& user, const Access& access, Done done) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The spec of a SubjectAccessReview.
json::Value review_spec(const User& user, const Access& access);

}  // namespace hekla::kube
