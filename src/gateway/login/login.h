// Logging in and out: dex's pages and routes, oauth2-proxy's and oidc-authservice's around them, in
// one. No token is ever in a URL of ours but codes that work once and for a moment.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/executor.h"
#include "gateway/dex_config.h"
#include "gateway/login/content_codes.h"
#include "gateway/login/guess_limit.h"
#include "gateway/login/sessions.h"
#include "gateway/request/visit.h"

namespace hekla::gateway {

struct LoginOptions {
  const Clock* clock = nullptr;
  Rng* rng = nullptr;
  // Runs a task that may take a fifth of a second, on another thread; false: too much is waiting.
  std::function<bool(Task&)> work;
  // The owner of a code of `hekla dashboard` this is; each works once. `done` on any thread.
  std::function<void(std::string code, std::move_only_function<void(Result<kube::User>)> done)>
      redeem;
};

// Thread-safe.
class Login {
 public:
  Login(LoginOptions options, Sessions& sessions);
  void set_config(std::shared_ptr<const DexConfig> config);
  // Empty until accounts have been read; no password is judged before.
  std::shared_ptr<const DexConfig> config() const;
  // The public default password still opens the default account.
  bool has_default_password() const { return default_password_; }

  // Whether a path is the login's own.
  static bool owns(std::string_view path);
  // Whether a route that begins so would be in its way.
  static bool claims(std::string_view prefix);
  void serve(Visit visit);
  // Sends a browser to the login, to come back where it was.
  net::Response begin(const Visit& visit);

  struct Known {
    Sessions::Found found;
    std::string secret;
  };
  // The session of a request's cookies, by either name.
  std::optional<Known> known(const net::Headers& headers);

  // The content's origin: a browser without a pass is sent to the page, which knows it by its
  // session and sends it back with a code.
  std::optional<Sessions::Found> known_content(const net::Headers& headers);
  net::Response ask_page(const Visit& visit);
  // From the page, with its name: whoever has no pass there yet comes back to be given one here.
  net::Response lead_to_content(const Visit& visit);
  net::Response hand_over(const Visit& visit, std::string_view secret);
  net::Response take_over(const Visit& visit);

 private:
  struct Attempt {
    std::string return_to, cookie, code;
    std::optional<kube::User> user;  // once the password was right
    std::string connector;
    MonoTime begun;
  };
  net::Response begin_at(const Visit& visit, std::string_view return_to);
  net::Response ask_page_at(const Visit& visit, const std::string& page,
                            const std::string& return_to);
  net::Response form(const Visit& visit, int status, const std::string& state, std::string error,
                     std::string email) const;
  void check_password(Visit visit);
  void judge(const Visit& visit, const std::string& state, const std::string& email, bool right);
  net::Response finish(const Visit& visit);
  net::Response start_session(const Visit& visit, kube::User user, std::string connector,
                              const std::string& return_to);
  net::Response sign_out(const Visit& visit, std::string_view return_to);
  net::Response old_sign_out(const Visit& visit);
  net::Response session_info(const Visit& visit);
  net::Response session_list(const Visit& visit);
  void redeem_link(Visit visit);
  bool is_attempt(const std::string& state);

  const LoginOptions options_;
  Sessions& sessions_;
  GuessLimit guesses_;
  ContentCodes codes_;
  std::atomic<bool> default_password_ = false, has_accounts_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const DexConfig> config_ = std::make_shared<const DexConfig>();
  std::map<std::string, Attempt> attempts_;  // by state
};

kube::User local_user(const DexUser& user);

}  // namespace hekla::gateway
