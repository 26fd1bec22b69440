#include "agent/rootless.h"

#include "agent/network/pod_network.h"

namespace hekla::agent {

std::string outside_obstacle() { return PodNetwork::outside_obstacle(); }

std::string rootless_notice(uid_t user, const std::string& closed) {
  return "rootless: every pod runs as you (uid " + std::to_string(user) +
         ") and as no other user; no cpu, memory and process limits; no host ports below 1024; " +
         (closed.empty() ? "the outside through pasta"
                         : "pods reach each other, but nothing outside (" + closed + ")") +
         "; sudo hekla up has none of these bounds";
}

}  // namespace hekla::agent
