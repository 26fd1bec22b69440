#include "base/build_info.h"

#ifndef HEKLA_VERSION
#define HEKLA_VERSION "unknown"
#endif
#ifndef HEKLA_COMMIT
#define HEKLA_COMMIT "unknown"
#endif

namespace hekla {

const BuildInfo& build_info() {
  static constexpr BuildInfo info{HEKLA_VERSION, HEKLA_COMMIT, "g++ " __VERSION__, "v1.34.1+hekla"};
  return info;
}

}  // namespace hekla
