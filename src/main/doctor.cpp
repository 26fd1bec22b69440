#include "main/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/doctor.h"

namespace hekla {
namespace {

using agent::Finding;
using Grade = agent::Finding::Grade;

// The first program of that name on the PATH; empty: there is none.
std::string program_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, colon)) + "/" + name;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// Names that tutorials type and hekla answers to, by a link that is never put over another program.
Finding link_finding(const std::string& name, const std::string& what) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string found = program_on_path(name);
  if (found.empty())
    return {Grade::note, name + " is not there: " + what,
            "ln -s " + self + " /usr/local/bin/" + name};
  if (std::filesystem::canonical(found, error) == self)
    return {Grade::good, found + " is a link to hekla: " + what, ""};
  return {Grade::good, found + " is a program of its own; hekla leaves it alone", ""};
}

}  // namespace

int run_doctor() {
  int code = 0;
  std::vector<Finding> findings = agent::examine_machine();
  findings.push_back(link_finding("docker", "a link to hekla builds, pulls and pushes images"));
  findings.push_back(link_finding("kfctl", "a link to hekla answers where a tutorial types it"));
  for (const Finding& finding : findings) {
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
