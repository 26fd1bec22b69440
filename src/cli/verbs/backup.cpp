// hekla backup, restore: everything the API server holds, into a file and back, while it runs.
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

Command file_command(const char* name, const char* summary, const char* help,
                     Result<void> (*work)(ApiSession&, const std::string&)) {
  auto options = std::make_shared<BackupOptions>();
  Command command{.name = name, .summary = summary, .flags = cluster_flags(options->cluster)};
  command.flags.push_back(Flag("file", options->file, help).must_be_given());
  command.run = on_cluster(options->cluster, [options, work](ApiSession& session) {
    return work(session, options->file);
  });
  return command;
}

std::vector<Command> backup_commands(const Context&) {
  return {file_command("backup", "write everything the API server holds into a file",
                       "the file to write", back_up),
          file_command("restore", "bring back what a backup holds, and nothing else",
                       "a file that hekla backup wrote", restore)};
}

}  // namespace

extern const Verb verb_backup;
const Verb verb_backup{"backup", backup_commands};

}  // namespace hekla::cli
