// The identity of who is asking, as a value. Whatever answers a person (API server, gateway,
// dashboard, pipelines, object store) takes identity only as a User that somebody has
// authenticated, never from a header of a request.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hekla::kube {

// How the identity was proved.
enum class Proof {
  none,         // it was not: anonymous, or a name that a test or a component has made up
  certificate,  // a client certificate of our authority
  token,        // a service account's or a bootstrap token
  session,      // a login of the gateway
  provider,     // an OpenID Connect provider
  proxy,        // the front proxy of an aggregated API, by its certificate
};

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra = {};
  Proof proof = Proof::none;
};

}  // namespace hekla::kube
