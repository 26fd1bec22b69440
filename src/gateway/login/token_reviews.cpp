#include "gateway/login/token_reviews.h"

#include <map>
#include <mutex>

#include "base/crypto.h"
#include "json/parse.h"

namespace hekla::gateway {
namespace {

const kube::Resource kReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
constexpr Nanos kGoodFor = std::chrono::seconds(5);
constexpr std::size_t kMaxKept = 4096, kMaxToken = 16 * 1024;

Result<kube::User> read_review(const kube::WriteResult& result) {
  if (!result) return std::unexpected(result.error());
  const json::Value review = TRY(json::parse(*(*result)->json));
  if (!json::bool_at(review, {"status", "authenticated"}))
    return fail(Code::unauthorized, "the token is not valid");
  kube::User user;
  user.name = json::text_at(review, {"status", "user", "username"});
  user.uid = json::text_at(review, {"status", "user", "uid"});
  if (const json::Array* groups = json::array_at(review, {"status", "user", "groups"}))
    for (const json::Value& group : *groups)
      if (group.is_string()) user.groups.emplace_back(json::sv(group.as_string()));
  user.proof = kube::Proof::token;
  if (user.name.empty()) return fail(Code::unauthorized, "the token names nobody");
  return user;
}

}  // namespace

struct TokenReviews::State {
  kube::Client& client;
  std::mutex mutex;
  std::map<std::string, std::pair<kube::User, MonoTime>> known;  // by the token's digest
};

TokenReviews::TokenReviews(kube::Client& client) : state_(std::make_shared<State>(client)) {}
TokenReviews::~TokenReviews() = default;

void TokenReviews::verify(std::string token, Done done) {
  if (token.empty() || token.size() > kMaxToken)
    return done(fail(Code::unauthorized, "the token is too long"));
  const std::string digest = sha256(token);
  Executor& executor = state_->client.executor();
  std::optional<kube::User> kept;
  {
    std::lock_guard lock(state_->mutex);
    const auto at = state_->known.find(digest);
    if (at != state_->known.end() && executor.clock().mono() < at->second.second)
      kept = at->second.first;
  }
  if (kept) return done(std::move(*kept));
  auto shared = std::make_shared<Done>(std::move(done));
  Task ask = [weak = std::weak_ptr(state_), token = std::move(token), digest, shared] {
    const std::shared_ptr<State> state = weak.lock();
    if (!state) return (*shared)(fail(Code::unavailable, "the gateway is ending"));
    kube::Write review;
    review.resource = kReviews;
    review.body = json::Object{{"apiVersion", "authentication.k8s.io/v1"},
                               {"kind", "TokenReview"},
                               {"spec", json::Object{{"token", token}}}};
    state->client.write(std::move(review), [weak, digest, shared](const kube::WriteResult& result) {
      Result<kube::User> user = read_review(result);
      if (const std::shared_ptr<State> state = weak.lock(); state && user) {
        const MonoTime now = state->client.executor().clock().mono();
        std::lock_guard lock(state->mutex);
        if (state->known.size() >= kMaxKept)
          std::erase_if(state->known, [&](const auto& one) { return one.second.second <= now; });
        if (state->known.size() < kMaxKept) state->known[digest] = {*user, now + kGoodFor};
      }
      (*shared)(std::move(user));
    });
  };
  if (!executor.try_post(ask))
    (*shared)(fail(Code::too_many_requests, "too many requests are waiting to be recognised"));
}

}  // namespace hekla::gateway
