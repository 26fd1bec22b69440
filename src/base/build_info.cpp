#include "base/build_info.h"

#ifndef HEKLA_VERSION
#define HEKLA_VERSION "unknown"
#endif
#ifndef HEKLA_COMMIT
#define HEKLA_COMMIT "unknown"
#endif

#ifndef HEKLA_DAY
#define HEKLA_DAY ""
#endif
#ifndef HEKLA_KIND
#define HEKLA_KIND ""
#endif
#ifndef HEKLA_LIBRARIES
#define HEKLA_LIBRARIES ""
#endif

namespace hekla {

const BuildInfo& build_info() {
  static constexpr BuildInfo info{HEKLA_VERSION, HEKLA_COMMIT, "g++ " __VERSION__, "v1.34.1+hekla",
                                  HEKLA_DAY,     HEKLA_KIND,   HEKLA_LIBRARIES};
  return info;
}

}  // namespace hekla
