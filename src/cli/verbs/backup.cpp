// hekla backup, restore: everything the API server holds, into a file and back, while it runs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/disk.h"
#include "cli/cluster.h"
#include "cli/verb.h"

namespace hekla::cli {
namespace {

constexpr std::size_t kPartBytes = std::size_t{2}
                                   << 20;  // within the server's limit of a request's body

struct BackupOptions {
  ClusterFlags cluster;
  std::string file;
};

Result<void> back_up(ApiSession& session, const std::string& path) {
  std::string content;
  TRY(session.stream("/hekla/backup", "application/octet-stream",
                     [&](std::string_view piece) { content += piece; }));
  TRY(write_file_atomically(path, content, 0600));
  std::printf("%zu bytes written to %s\n", content.size(), path.c_str());
  return {};
}

Result<void> restore(ApiSession& session, const std::string& path) {
  const std::string content = TRY(read_file(path));
  const json::Value begun = TRY(session.call("POST", "/hekla/restore"));
  const std::string url = "/hekla/restore/" + std::string(json::string_at(begun, {"id"}));
  for (std::size_t at = 0; at < content.size(); at += kPartBytes)
    TRY(session.call("POST", url, content.substr(at, kPartBytes), "application/octet-stream"));
  const json::Value done = TRY(session.call("POST", url + "/finish"));
  std::printf("restored from %s: %lld objects written, %lld removed, at revision %lld\n",
              path.c_str(), static_cast<long long>(json::int_at(done, {"written"})),
              static_cast<long long>(json::int_at(done, {"removed"})),
              static_cast<long long>(json::int_at(done, {"revision"})));
  return {};
}

void declare_one(CLI::App& app, Context& context, const char* name, const char* summary,
                 const char* file, Result<void> (*work)(ApiSession&, const std::string&)) {
  auto options = std::make_shared<BackupOptions>();
  CLI::App* command = app.add_subcommand(name, summary);
  add_cluster_flags(*command, options->cluster);
  command->add_option("file", options->file, file)->required();
  run_on_cluster(*command, context, options->cluster,
                 [options, work](ApiSession& session) { return work(session, options->file); });
}

void declare(CLI::App& app, Context& context) {
  declare_one(app, context, "backup", "write everything the API server holds into a file",
              "the file to write", back_up);
  declare_one(app, context, "restore", "bring back what a backup holds, and nothing else",
              "a file that hekla backup wrote", restore);
}

}  // namespace

extern const Verb verb_backup;
const Verb verb_backup{"backup", declare};

}  // namespace hekla::cli
