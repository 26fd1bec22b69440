// Acting as somebody else: the Impersonate- headers.
#pragma once

#include "apiserver/auth/auth.h"

namespace hekla::apiserver {

// `user` itself without such headers; otherwise the one asked for, when `user` may impersonate each
// part of it (user or service account, groups, uid, extra).
Result<kube::UserInfo> impersonated(const RequestAuthorizer& authorizer,
                                    const net::Headers& headers, kube::UserInfo user);

}  // namespace hekla::apiserver
