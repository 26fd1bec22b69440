// The flags of Volcano's programs: which ones the components share, and those that are taken
// because published manifests give them, though nothing here depends on them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/component_options.h"
#include "cli/flag.h"

namespace hekla::cli {

struct IdleFlag {
  const char* name;
  const char* why;          // it has no meaning here
  bool takes_value = true;  // else a switch, which may be followed by "=true" or "=false"
};

std::vector<Flag> idle_flags(ComponentOptions& options, std::span<const IdleFlag> flags);
std::vector<Flag> component_flags(ComponentOptions& options);
std::vector<Flag> election_flags(ComponentOptions& options);
// Flags that one component alone has.
std::vector<Flag> own_flags(ControllersOptions& options);
std::vector<Flag> own_flags(SchedulerOptions& options);
std::vector<Flag> own_flags(WebhookOptions& options);
// The answer to --version.
std::string version_text();

// Brings what manifests write to what is declared: "2>&1" (which no shell sees there) is dropped,
// "-v=4" is "--v=4", and underscores in names are dashes.
void normalize_component_arguments(std::vector<std::string>& arguments);

// "A=true,B=false"
Result<std::map<std::string, bool>> parse_feature_gates(const std::string& text);

// The controllers of `known` that a list as of --controllers leaves out: "*", "name" or "+name",
// "-name".
// Names that are neither in `known` nor in `absent` are refused.
Result<std::vector<std::string>> disabled_controllers(std::span<const std::string> list,
                                                      std::span<const std::string> known,
                                                      std::span<const std::string> absent);

}  // namespace hekla::cli
