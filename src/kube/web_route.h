// A module's part of the web. A module that answers people (pipelines, objects, dashboard) gives
// the gateway a list of WebRoutes; together they are a fixed table that wins over every
// VirtualService, HTTPRoute and Ingress. The gateway knows who asks, refuses what may not be, and
// calls the handler; no handler ever reads an identity, a session or a token from a header.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/authorizer.h"
#include "kube/user.h"
#include "net/http.h"
#include "net/server_options.h"

namespace hekla::kube {

// One request that has passed the front door, with the side that answers it.
struct WebExchange {
  // Without whatever could be mistaken for an identity: session cookies, Authorization,
  // kubeflow-userid and its kin are gone. Path and target are as sent, prefix included.
  net::Request request;
  std::shared_ptr<net::ResponseWriter> writer;
  User user;  // Proof::none and no name where the gate is `anybody` and nobody has logged in
  std::string origin;  // by which the visitor came: "http://localhost:8080"
  // The value a page of this session sends as X-XSRF-TOKEN with each change, and that of the
  // cookie XSRF-TOKEN (not HttpOnly, SameSite=Strict, Path=/, Secure if origin is https). Empty for
  // tokens: a script may then invent the pair, as upstream's tests do.
  std::string csrf_token = {};
  // When the login ends for good. The gateway breaks streams off then; nobody need look at it.
  std::optional<WallTime> until = {};
};

// Called on the connection's net thread; must not block (net/README.md).
using WebHandler = std::function<void(WebExchange)>;

// Visitors that get past the gateway.
enum class WebGate {
  user,     // whoever is logged in or has a token; the handler asks the Authorizer itself
  object,   // whom the Authorizer allows WebRoute::access
  anybody,  // everyone: what is needed before a login, and answers without a secret
};

// The proof wanted of a change (any method but GET, HEAD, OPTIONS and TRACE) by a login session.
// Always: Origin, Referer and Sec-Fetch-Site, where a browser sends them, name the page's own
// origin and no user content. Tokens prove by themselves that no other site's page sent them.
enum class WebCsrf {
  token,   // also that the header X-XSRF-TOKEN equals the cookie, and both the session's
  origin,  // no more than that: for clients that know no such header (the pipelines SDK with a
           // cookie)
};

struct WebRoute {
  // Where it begins: "/jupyter/", "/apis/v2beta1". The longest prefix wins. A prefix is whole path
  // segments: "/a" is "/a" and "/a/...", not "/ab"; "/a/" is "/a/...", and "/a" is sent there. With
  // `any_tail` it is a plain string: "/ml_metadata." is "/ml_metadata.MetadataStoreService/GetX".
  // Upgrades (WebSocket) come with an Origin that was checked.
  std::string prefix;
  WebHandler handler;
  WebGate gate = WebGate::user;
  // With WebGate::object: what the request is about to do. An error is the answer (a path that
  // names no object).
  std::function<Result<Access>(const net::Request&)> access = {};
  WebCsrf csrf = WebCsrf::token;
  bool any_tail = false;
  net::RouteRules limits = {};  // body whole or streamed, its size, the time-outs
};

using WebRoutes = std::vector<WebRoute>;

}  // namespace hekla::kube
