// A URL and a method as the API understands them.
#pragma once

#include <string>

#include "net/http.h"

namespace hekla::apiserver {

struct RequestInfo {
  bool is_resource = false;  // below /api/<version> or /apis/<group>/<version>
  // get, list, watch, create, update, patch, delete, deletecollection; otherwise the method, lower
  // case.
  std::string verb;
  std::string group, version;
  std::string ns, plural, name, subresource;
  std::string rest;  // what follows the subresource in the path
  std::string path;
};

RequestInfo parse_request(const net::Request& request);

}  // namespace hekla::apiserver
