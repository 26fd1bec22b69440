// Login sessions. The cookie holds a random secret, the record its digest: whoever reads the
// record (it survives restarts as a Secret) cannot log in with it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "json/value.h"
#include "kube/user.h"

namespace hekla::gateway {

struct Session {
  kube::User user;
  std::string connector;  // "local", an OpenID Connect connector's id, or "link"
  WallTime created, used;
  std::string content = {};  // the digest of its pass to the content's origin
};

// 32 random bytes as base64url: the secret of a session, a code, a state.
std::string random_secret(Rng& rng);

// Thread-safe.
class Sessions {
 public:
  struct Options {
    Nanos idle = std::chrono::hours(24), absolute = std::chrono::hours(24 * 7);
    std::size_t sessions_max = 10'000, per_user_max = 64;  // the oldest end first
  };
  Sessions(Options options, const Clock& clock, Rng& rng)
      : options_(options), clock_(clock), rng_(rng) {}

  // The new secret.
  std::string begin(kube::User user, std::string connector);
  struct Found {
    Session session;
    std::string id;  // the digest: what streams and lists name the session by
    WallTime until;  // when it ends for good
  };
  std::optional<Found> find(std::string_view secret);
  // The session that a pass to the content's origin belongs to (content_pass).
  std::optional<Found> find_content(std::string_view pass);
  void end(std::string_view secret);
  // By digest, and only of this user.
  bool end_of_user(const std::string& user, const std::string& id);
  // All that `ends` is true for.
  void end_where(const std::function<bool(const Session&)>& ends);
  std::vector<Found> of_user(const std::string& user) const;

  // Called with the ids of sessions that have ended, and whenever there is something new to keep
  // (then with none). On any thread; must only post.
  void on_change(std::function<void(std::vector<std::string> ended)> changed);
  json::Value dump() const;
  void load(const json::Value& dumped);

 private:
  std::optional<Found> find_id(const std::string& id, const std::string* content_digest);
  bool is_over(const Session& session, WallTime now) const;
  void tell(std::vector<std::string> ended);

  const Options options_;
  const Clock& clock_;
  Rng& rng_;
  mutable std::mutex mutex_;
  std::map<std::string, Session, std::less<>> sessions_;  // by digest
  std::function<void(std::vector<std::string>)> changed_;
};

// The token that a page of the session sends with each change.
std::string csrf_token(std::string_view secret);
// The value of the cookie on the content's origin. It opens nothing on the page's, and the
// session's secret cannot be told from it.
std::string content_pass(std::string_view secret);

}  // namespace hekla::gateway
