#include "cli/status/running.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/disk.h"
#include "base/environment.h"
#include "json/parse.h"

namespace hekla::cli {
namespace {

std::string file_of(const std::string& data_dir) { return data_dir + "/running.json"; }

}  // namespace

json::Value Running::to_json() const {
  return json::Object{{"pid", pid}, {"version", version}, {"url", url},
                      {"web", web}, {"objects", objects}, {"kubeconfig", kubeconfig},
                      {"log", log}, {"since", since}};
}

Result<void> write_running(const std::string& data_dir, const Running& facts) {
  return write_file_atomically(file_of(data_dir), json::serialize(facts.to_json()) + "\n", 0600);
}

void forget_running(const std::string& data_dir) { ::unlink(file_of(data_dir).c_str()); }

std::optional<Running> read_running(const std::string& data_dir, int pid) {
  Result<std::string> text = read_file(file_of(data_dir));
  if (!text) return std::nullopt;
  Result<json::Value> value = json::parse(*text);
  if (!value || json::int_at(*value, {"pid"}) != pid) return std::nullopt;  // of an earlier process
  const auto member = [&](const char* name) { return json::text_at(*value, {name}); };
  return Running{.pid = pid,
                 .version = member("version"),
                 .url = member("url"),
                 .kubeconfig = member("kubeconfig"),
                 .web = member("web"),
                 .objects = member("objects"),
                 .log = member("log"),
                 .since = member("since")};
}

std::string place_of_log() {
  if (!environment_variable("JOURNAL_STREAM").empty()) return "the journal";
  struct stat status{};
  if (::fstat(STDERR_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/fd/2", error);
  return error ? "" : path;
}

}  // namespace hekla::cli
