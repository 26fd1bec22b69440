// The facts about a running platform that it writes into its data directory when it is ready, for
// whoever asks later: `hekla status`, a second `hekla up`.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::cli {

struct Running {
  int pid = 0;
  std::string version, url, kubeconfig;
  std::string web, objects;  // addresses; empty: not served
  std::string log;           // a file, "the journal"; empty: a terminal or somebody's pipe
  std::string since;         // RFC 3339

  json::Value to_json() const;
};

Result<void> write_running(const std::string& data_dir, const Running& facts);
void forget_running(const std::string& data_dir);
// The facts that the process with this pid has written; one that is not ready yet has written
// nothing.
std::optional<Running> read_running(const std::string& data_dir, int pid);

// Where standard error goes, as Running::log has it.
std::string place_of_log();

}  // namespace hekla::cli
