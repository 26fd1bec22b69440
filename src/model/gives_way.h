// Deployments that the platform shows until somebody installs one: what is applied over them may
// choose other pods.
#pragma once

namespace hekla::model {

// The annotation that such a Deployment bears.
inline constexpr const char* kGivesWay = "hekla.io/gives-way";

}  // namespace hekla::model
