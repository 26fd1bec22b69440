// The objects behind a pod's volumes: ConfigMaps, Secrets, claims, and tokens, which are kept until
// they grow old. Lives inside the pod's worker.
#pragma once

#include <map>
#include <string>

#include "agent/pod/worker/pod_state.h"

namespace hekla::agent {

class VolumeObjects {
 public:
  explicit VolumeObjects(PodState& state) : state_(state) {}
  // Fails while one of the claims is not bound; `done` is left out once the worker is gone.
  void fetch(Done<PodSources> done);

 private:
  void keep_tokens(PodSources& sources);
  void add_claims(PodSources sources, Done<PodSources> done);

  struct Token {
    std::string text;
    WallTime issued;
  };
  PodState& state_;
  std::map<TokenRequest, Token> tokens_;
};

}  // namespace hekla::agent
