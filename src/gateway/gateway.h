// The gateway as main sees it: a handler for a listener, fed by the objects of an API.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "kube/authorizer.h"
#include "kube/client.h"
#include "kube/web_route.h"
#include "net/client.h"
#include "net/http.h"
#include "net/server_options.h"

namespace hekla::gateway {

struct Options {
  kube::Client* client = nullptr;  // its executor is the gateway's loop
  // Whether somebody may; from any thread. Empty: SubjectAccessReviews of the client's API.
  std::function<void(const kube::User&, const kube::Access&, kube::Authorizer::Done)> authorize;
  const Clock* clock = nullptr;
  Rng* rng = nullptr;
  // The owner of a token; from any thread. Empty: TokenReviews of the client's API.
  std::function<void(std::string token, std::move_only_function<void(Result<kube::User>)>)>
      verify_token;
  kube::WebRoutes routes;  // of the modules
  // Sockets that reach pods; empty: those of this process' network.
  net::OpenSocket pod_sockets;
  bool ask_kernels = false;  // whether notebooks' servers are asked every minute if they are busy
  bool login = true;         // false: everybody is the default user; for loopback alone
};

// handler() and router() are for any thread; what they give must not outlive the gateway.
class Gateway {
  struct Private {};
  struct State;

 public:
  static Result<std::unique_ptr<Gateway>> create(Options options);
  Gateway(Private, std::shared_ptr<State> state);
  ~Gateway();
  // From any thread: reads accounts and sessions, makes the first account.
  void start();
  net::Handler handler(std::string scheme);
  net::Router router();
  bool has_default_password() const;

 private:
  std::shared_ptr<State> state_;
};

// Whether users' programs have an origin of their own beside a page that was opened so.
bool has_content_origin(std::string_view page_origin);

// The object behind a one-time link of `hekla dashboard`: a Secret of the system's namespace, which
// only its administrators write. `code` stands in the link.
struct LoginLink {
  std::string code;
  json::Value secret;
};
LoginLink make_login_link(const kube::User& user, WallTime now, Rng& rng);

}  // namespace hekla::gateway
