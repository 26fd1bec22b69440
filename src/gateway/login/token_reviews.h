// The owners of bearer tokens, as the API behind a client says (TokenReview). Right answers are
// kept for a few seconds, so that a script's requests do not each cost a review.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "kube/user.h"

namespace hekla::gateway {

// Lives on the client's executor; may be asked from any thread and answers on any.
class TokenReviews {
 public:
  using Done = std::move_only_function<void(Result<kube::User>)>;
  explicit TokenReviews(kube::Client& client);
  ~TokenReviews();
  void verify(std::string token, Done done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::gateway
