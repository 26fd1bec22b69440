// Facts about this build, filled in by CMake.
#pragma once

namespace hekla {

struct BuildInfo {
  const char* version;
  const char* commit;
  const char* compiler;
  const char* kubernetes;  // the gitVersion the API server reports
  const char* day;         // of the commit: 2026-01-31; empty: not known
  const char* kind;        // "release for x86_64"
  const char* libraries;   // "Boost 1.81, OpenSSL 3.0.17, ..."
};

const BuildInfo& build_info();

}  // namespace hekla
