// The server's own decision for the other parts of its process, as kube::Authorizer.
#pragma once

#include "apiserver/auth/auth.h"
#include "kube/authorizer.h"

namespace hekla::apiserver {

// Answers before may() returns, from whatever thread asks: a role taken away counts from the next
// question on.
class LocalAuthorizer final : public kube::Authorizer {
 public:
  explicit LocalAuthorizer(const RequestAuthorizer& authorizer) : authorizer_(authorizer) {}
  void may(const kube::User& user, const kube::Access& access, Done done) override;

 private:
  const RequestAuthorizer& authorizer_;
};

}  // namespace hekla::apiserver
