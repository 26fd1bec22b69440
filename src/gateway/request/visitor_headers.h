// Header fields by which somebody could pass for somebody else. From outside they are removed in
// every spelling before anybody looks at the request.
#pragma once

#include <string>
#include <string_view>

#include "kube/user.h"
#include "net/http.h"

namespace hekla::gateway {

// kubeflow-userid, kubeflow_userid, X-Auth-Request-Email, X-Forwarded-Uri, X-Envoy-..., and so on:
// case does not count, and an underscore is a dash.
bool names_identity(std::string_view header);
void strip_identity_headers(net::Headers& headers);

// Fields for a proxied server: who asks (as upstream's policies and applications read it), by
// which address and scheme they came. Takes the place of whatever the visitor has sent.
struct Seen {
  std::string remote_address, scheme, host, request_id;
};
void set_forwarded_headers(net::Headers& headers, const kube::User& user, const Seen& seen);

// "http://localhost:8080": the origin a request was made to, from its Host. Empty without one that
// is a host name or an address, perhaps with a port.
std::string origin_of(const net::Headers& headers, std::string_view scheme);

// Whether a header value may be written: none that a pod's owner has chosen breaks a line.
bool is_field_value(std::string_view text);
// Whether the annotation of a notebook or a route may set a field of this name.
bool may_be_set_by_routes(std::string_view header);

}  // namespace hekla::gateway
