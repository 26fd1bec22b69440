// How S3 is served: whose keys count, under which names.
#pragma once

#include <string>
#include <vector>

#include "objects/wire/access.h"

namespace hekla::objects {

struct S3Options {
  CredentialSource credentials;
  // Hosts of the service itself: a request to BUCKET.HOST names the bucket there.
  std::vector<std::string> hosts;
  std::string region = "us-east-1";  // what clients are told; any is accepted
};

}  // namespace hekla::objects
