// Facts about this build, filled in by CMake.
#pragma once

namespace hekla {

struct BuildInfo {
  const char* version;
  const char* commit;
  const char* compiler;
  const char* kubernetes;  // the gitVersion the API server reports
};

const BuildInfo& build_info();

}  // namespace hekla
