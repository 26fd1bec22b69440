// A user as authentication.k8s.io/v1 UserInfo.
#pragma once

#include "json/value.h"
#include "kube/admission.h"

namespace hekla::apiserver {

json::Value user_value(const kube::UserInfo& user);

}  // namespace hekla::apiserver
