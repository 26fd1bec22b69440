// For the shells' completion, what may stand where the cursor is: objects of the cluster that the
// words before it name, where the flag or argument in question takes such.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace hekla::cli {

// The place of the cursor, told from the words before it; the last word is what is there already.
struct CursorPlace {
  Names names = Names::files;
  std::string type;     // of resource, where the words name it: "vcjob"
  std::string current;  // what is there already
  std::string ns, kubeconfig, data_dir;
};
CursorPlace place_at_cursor(const Command& root, const std::vector<std::string>& words);

// Empty where files are meant, or nothing can be told.
std::vector<std::string> object_names(const CursorPlace& place);

}  // namespace hekla::cli
