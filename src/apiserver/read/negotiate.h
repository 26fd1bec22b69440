// The form of the answer, from the client's Accept header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace hekla::apiserver {

struct MediaClause {
  std::string type;                // "application/json", "*/*"
  std::string as, group, version;  // parameters as, g, v
  int weight = 1000;               // q in thousandths
};
// The heaviest first, those of one weight in the order given.
std::vector<MediaClause> parse_accept(std::string_view accept);

struct Answer {
  enum class Shape { object, table, metadata } shape = Shape::object;
  bool yaml = false;
  bool protobuf = false;  // only for clients that accept nothing else
  bool pretty = false;
  std::string version = "v1";  // of the meta.k8s.io transform
};

// For requests about objects. 406 when nothing offered can be served.
// `custom` and `streams` choose the words of a refusal: those of custom resources are others, and
// what can be watched is offered as a stream too.
Result<Answer> negotiate(const net::Request& request, bool custom = false, bool streams = false);
// curl and browsers get indented JSON.
bool wants_pretty(const net::Request& request);

}  // namespace hekla::apiserver
