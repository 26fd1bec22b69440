#include "apiserver/auth/local_authorizer.h"

#include "base/check.h"

namespace hekla::apiserver {
namespace {

RequestInfo request_of(const kube::Access& access) {
  RequestInfo info;
  info.verb = access.verb;
  info.is_resource = access.path.empty();
  if (!info.is_resource) {
    info.path = access.path;
    return info;
  }
  info.group = access.resource.group;
  info.version = access.resource.version;
  info.plural = access.resource.plural;
  info.subresource = access.subresource;
  info.ns = access.key.ns;
  info.name = access.key.name;
  return info;
}

}  // namespace

void LocalAuthorizer::may(const kube::User& user, const kube::Access& access, Done done) {
  CHECK(!access.verb.empty(), "an access without a verb");
  CHECK(access.path.empty() != access.resource.plural.empty(),
        "an access to a resource or to a path, not both");
  kube::Decision decision;
  decision.allowed = authorizer_.allows(user, request_of(access), &decision.reason);
  done(std::move(decision));
}

}  // namespace hekla::apiserver
