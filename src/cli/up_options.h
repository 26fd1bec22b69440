// The settings of `hekla up`, and of verbs that start it as a second process, like `hekla run`. The
// components' own options are part of them; what only main knows of those is filled in there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/fake_nodes.h"
#include "cli/audit_flags.h"
#include "cli/flag.h"

namespace hekla::cli {

// /var/lib/hekla for root, otherwise $XDG_DATA_HOME/hekla or ~/.local/share/hekla.
std::string default_data_dir();
Flag data_dir_flag(std::string& data_dir, std::string help);

// Where the dashboard, notebooks and everything else of the web are served.
struct WebFlags {
  std::string listen;  // ADDR:PORT, "none"; empty: 127.0.0.1 and the port of the last start
  std::string auth = "login";
  bool tls = false;
};

struct UpOptions {
  std::string data_dir = default_data_dir();
  std::string kubeconfig_out;
  std::string listen;
  std::vector<std::string> tls_sans;
  std::string pod_security_default = "privileged";
  std::string pipelines_listen, objects_listen;
  std::string scheduler_conf, record;
  std::string gang_scheduler = "volcano";  // of training jobs; none: their pods are placed singly
  int notebook_idle_minutes = 0;           // until an unused notebook is stopped; 0: never
  bool no_agent = false;
  std::vector<std::string> without;  // components whose originals people run themselves
  agent::Options agent = usual_agent();
  agent::FakeNodesOptions fake_nodes = usual_fake_nodes();
  std::uint64_t history_changes = 200'000;
  AuditFlags audit;
  WebFlags web;
  std::string log_level = "warn";
  bool merge_kubeconfig = false, quiet = false;
  bool only_stop = false;        // of `hekla down`: no scheduler and no controllers, pods only end
  bool end_with_output = false;  // of `hekla run`: ends when nobody reads its output any more

 private:
  static agent::Options usual_agent();
  static agent::FakeNodesOptions usual_fake_nodes();
};

// The table of flags. A new flag is a row in it and its use.
std::vector<Flag> up_flags(UpOptions& options);

// The arguments that give a child process the same options.
std::vector<std::string> up_arguments(UpOptions options);

// The arguments that decide whose pods there are, kept in the data directory at each start, for
// whoever has to end what a crash left: under another node name its pods would be nobody's.
void remember_arguments(UpOptions options);
std::vector<std::string> arguments_to_stop(const std::string& data_dir);

}  // namespace hekla::cli
