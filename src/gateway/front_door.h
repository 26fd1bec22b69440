// The way of every request: read once, who is it, where does it lead, may they. Requests come in as
// values and go to the login, to a module's handler, or to the proxy.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/login/login.h"
#include "gateway/request/visit.h"
#include "gateway/web_table.h"
#include "kube/authorizer.h"
#include "kube/web_route.h"

namespace hekla::gateway {

// A visitor who was let in.
struct Guest {
  kube::User user;      // no name: nobody is logged in
  std::string session;  // the session's id; empty for tokens
  std::string secret;   // its secret
  std::optional<WallTime> until;
  bool by_token = false;  // the request's Authorization was ours
};

// Routes that are objects: what no module has claimed. Their answers are users' programs'.
class Proxy {
 public:
  virtual ~Proxy() = default;
  // Whether a route of its own leads anywhere; thread-safe and quick.
  virtual bool claims(const net::Request& request, const Path& path) const = 0;
  struct Way {
    kube::Access access;                                        // what the visitor must be allowed
    std::function<void(Visit visit, const Guest& guest)> take;  // on the connection's thread
  };
  // Of a request that it claims.
  virtual Way way(const Visit& visit) = 0;
};

struct FrontDoorOptions {
  // The owner of a token. Any thread in and out; `done` once.
  using UserDone = std::move_only_function<void(Result<kube::User>)>;
  std::function<void(std::string token, UserDone done)> verify_token;
  std::function<void(const kube::User&, const kube::Access&, kube::Authorizer::Done)> authorize;
  kube::WebRoutes routes;
  std::optional<kube::User> everybody = {};  // --auth=none: who all of them are
  // Whether nobody but the user works in a namespace; from any thread. Empty: never.
  std::function<bool(const std::string& user, const std::string& ns)> is_sole_member = {};
};

// Thread-safe: serve() runs on the net thread of each connection.
class FrontDoor {
  struct Private {};

 public:
  static Result<std::unique_ptr<FrontDoor>> make(FrontDoorOptions options, Login& login);
  FrontDoor(Private, FrontDoorOptions options, WebTable table, Login& login)
      : options_(std::move(options)), table_(std::move(table)), login_(login) {}
  // `proxy` outlives the requests; before any request.
  void set_proxy(Proxy* proxy) { proxy_ = proxy; }

  void serve(net::Request request, std::shared_ptr<net::ResponseWriter> writer,
             std::string_view scheme);
  net::RouteRules rules(const net::Request& head) const;
  // Streams of a session end with it.
  void end_streams(const std::vector<std::string>& sessions);
  const WebTable& table() const { return table_; }

 private:
  void identify(Visit visit);
  void admit(Visit visit, Guest guest);
  void admit_content(Visit visit, Guest guest);
  void leave_page(const Visit& visit, const Guest& guest);
  void share_page(Visit visit, Guest guest);
  void take_way(Visit visit, Guest guest, Proxy::Way way);
  using Then = std::function<void(Visit visit, Guest guest)>;
  void authorize(Visit visit, Guest guest, const kube::Access& access, Then then);
  void enter(Visit visit, Guest guest, const kube::WebRoute& route);
  void call(Visit visit, Guest guest, const kube::WebRoute& route);
  void turn_away(const Visit& visit);
  void remember_stream(const Guest& guest, const std::shared_ptr<net::ResponseWriter>& writer);

  const FrontDoorOptions options_;
  const WebTable table_;
  Login& login_;
  Proxy* proxy_ = nullptr;
  std::mutex mutex_;
  std::unordered_multimap<std::string, std::weak_ptr<net::ResponseWriter>> streams_;
};

// Upstream's words for what is wrong with a change's tokens.
Result<void> check_csrf(const Visit& visit, const Guest& guest, kube::WebCsrf needed);

}  // namespace hekla::gateway
