// The server's address, as the first objects of a cluster tell it.
#pragma once

#include <cstdint>
#include <string>

namespace hekla::apiserver {

struct BootstrapOptions {
  std::string service_cidr;
  std::string service_address;  // of default/kubernetes
  std::string advertise_address;
  std::int64_t advertise_port = 6443;  // signed, as the numbers of the API are
  bool platform_objects = true;
};

}  // namespace hekla::apiserver
