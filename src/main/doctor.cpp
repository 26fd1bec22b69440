#include "main/doctor.h"

#include <cstdio>

#include "agent/doctor.h"

namespace hekla {

int run_doctor() {
  int code = 0;
  for (const agent::Finding& finding : agent::examine_machine()) {
    using Grade = agent::Finding::Grade;
    const char* mark = finding.grade == Grade::good   ? "ok  "
                       : finding.grade == Grade::note ? "note"
                                                      : "BAD ";
    std::printf("%s  %s\n", mark, finding.what.c_str());
    if (!finding.fix.empty()) std::printf("      -> %s\n", finding.fix.c_str());
    if (finding.grade == Grade::bad) code = 1;
  }
  std::printf(code == 0 ? "this machine can run pods\n" : "this machine cannot run pods yet\n");
  return code;
}

}  // namespace hekla
