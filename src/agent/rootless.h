// The public face of a platform that an ordinary user runs: the namespaces it needs before the
// process has a second thread, and the words for what its pods lack.
#pragma once

#include <sys/types.h>

#include <string>

#include "agent/rootless/holder.h"

namespace hekla::agent {

// Why pods of this machine cannot have a way to the outside; empty when they can.
std::string outside_obstacle();

// The bounds of pods without root, in one line for the person who starts the platform.
// `closed`: why they do not reach the outside, or empty.
std::string rootless_notice(uid_t user, const std::string& closed);

}  // namespace hekla::agent
