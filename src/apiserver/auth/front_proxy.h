// How other API servers recognise this one.
#pragma once

#include <string>

#include "base/crypto.h"

namespace hekla::apiserver {

// A certificate of an authority that signs nothing else. What such a connection says of its user is
// believed.
struct FrontProxy {
  std::string ca_pem;
  KeyPair certificate;  // CN=front-proxy-client
};

}  // namespace hekla::apiserver
