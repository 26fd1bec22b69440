#include "cli/train/train_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/bytes.h"
#include "base/disk.h"
#include "cli/cluster.h"
#include "kube/client.h"

namespace hekla::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkspace = "/workspace";
constexpr const char* kOutput = "/output";
constexpr std::size_t kMapBytes = 1'000'000, kMapFiles = 1'000;

void mount(TrainFiles& files, const std::string& name, json::Object volume, const std::string& at,
           bool read_only, const std::string& sub_path = {}) {
  json::Object mount{{"name", name}, {"mountPath", at}};
  if (read_only) mount["readOnly"] = true;
  if (!sub_path.empty()) mount["subPath"] = sub_path;
  files.mounts.push_back(std::move(mount));
  if (volume.empty()) return;
  volume["name"] = name;
  files.volumes.push_back(std::move(volume));
}

json::Object host_directory(const std::string& path) {
  return {{"hostPath", json::Object{{"path", path}, {"type", "Directory"}}}};
}

Result<fs::path> resolved(const std::string& given, bool directory) {
  std::error_code error;
  fs::path path = fs::canonical(given, error);
  if (error) return fail(Code::not_found, given + ": " + error.message());
  if (fs::is_directory(path) == directory) return path;
  return fail(Code::bad_request, given + (directory ? " is not a directory" : " is a directory"));
}

// Pods have the caller's user and no other right: files of others stay closed to them.
void run_as_caller(TrainFiles& files) {
  if (::getuid() == 0) return;
  files.user = ::getuid();
  files.group = ::getgid();
  std::vector<gid_t> groups(64);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  files.groups.assign(groups.begin(), groups.begin() + std::max(count, 0));
}

// "home" of pyvenv.cfg: where the interpreter that the environment was made with lies.
Result<fs::path> interpreter_home(const fs::path& venv) {
  Result<std::string> text = read_file((venv / "pyvenv.cfg").string());
  if (!text)
    return fail(Code::bad_request, venv.string() +
                                       " is no Python environment: it has no "
                                       "pyvenv.cfg (make one with python3 -m venv)");
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || !line.starts_with("home")) continue;
    const std::size_t begin = line.find_first_not_of(' ', equals + 1);
    if (begin != std::string::npos) return fs::path(line.substr(begin)).parent_path();
  }
  return fail(Code::bad_request, venv.string() + "/pyvenv.cfg does not say where its home is");
}

Result<void> mount_venv(TrainFiles& files, const std::string& given) {
  const fs::path venv = TRY(resolved(given, true));
  const fs::path home = TRY(interpreter_home(venv));
  mount(files, "python", host_directory(venv), venv, true);
  // The system's own is in every pod of the host image.
  if (home != "/usr" && home != "/usr/local" && home != "/")
    mount(files, "interpreter", host_directory(home), home, true);
  files.venv = venv;
  return {};
}

bool is_left_out(const fs::path& name) {
  const std::string text = name.filename().string();
  return text.starts_with('.') || text == "__pycache__" || text.ends_with(".pyc");
}

// The files of a directory by their paths in it.
Result<std::map<std::string, std::string>> small_files(const fs::path& directory) {
  std::map<std::string, std::string> files;
  std::size_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (is_left_out(at->path())) {
      if (at->is_directory()) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file()) continue;
    bytes += at->file_size();
    if (bytes > kMapBytes || files.size() >= kMapFiles)
      return fail(Code::bad_request,
                  directory.string() +
                      " has more than 1 MB or 1000 files, the most that travels "
                      "with a job: put it into a claim and name that with --pvc");
    files[fs::relative(at->path(), directory).string()] = TRY(read_file(at->path().string()));
  }
  if (error) return fail(Code::internal, directory.string() + ": " + error.message());
  return files;
}

}  // namespace

Result<TrainFiles> local_directory(const std::string& directory, const std::string& output,
                                   bool rootless) {
  TrainFiles files;
  mount(files, "workspace", host_directory(TRY(resolved(directory, true))), kWorkspace, true);
  files.script = kWorkspace;
  if (!output.empty()) {
    std::error_code error;
    fs::create_directories(output, error);
    if (error) return fail(Code::bad_request, output + ": " + error.message());
    mount(files, "output", host_directory(TRY(resolved(output, true))), kOutput, false);
  }
  if (!rootless) run_as_caller(files);
  return files;
}

Result<std::optional<bool>> rootless_here(ApiSession& session) {
  std::string boot = TRY(read_file("/proc/sys/kernel/random/boot_id"));
  while (boot.ends_with('\n')) boot.pop_back();
  for (const json::Value& node : TRY(list_objects(session, kube::resources::nodes))) {
    const std::string_view runtime =
        json::string_at(node, {"status", "nodeInfo", "containerRuntimeVersion"});
    if (runtime.starts_with("hekla://") &&
        json::string_at(node, {"status", "nodeInfo", "bootID"}) == boot)
      return json::string_at(node, {"metadata", "labels", "hekla.io/rootless"}) == "true";
  }
  return std::nullopt;
}

Result<TrainFiles> local_files(const TrainSources& sources, bool rootless) {
  const fs::path script = TRY(resolved(sources.script, false));
  TrainFiles files = TRY(local_directory(script.parent_path(), sources.output, rootless));
  files.script = fs::path(kWorkspace) / script.filename();
  if (!sources.venv.empty()) TRY(mount_venv(files, sources.venv));
  if (!sources.claim.empty())
    return fail(
        Code::bad_request,
        "--pvc is for clusters: the platform of this machine mounts the script's directory");
  return files;
}

Result<ClusterFiles> cluster_files(const TrainSources& sources, const std::string& ns,
                                   const std::string& job) {
  ClusterFiles out;
  out.files.venv = sources.venv;
  if (!sources.claim.empty()) {
    json::Object claim{{"persistentVolumeClaim", json::Object{{"claimName", sources.claim}}}};
    mount(out.files, "workspace", std::move(claim), kWorkspace, false);
    out.files.script = (fs::path(kWorkspace) / fs::path(sources.script).relative_path()).string();
    if (!sources.output.empty()) mount(out.files, "workspace", {}, kOutput, false, sources.output);
    return out;
  }
  if (!sources.output.empty())
    return fail(Code::bad_request,
                "--output needs --pvc on a cluster: its pods have no directory of this machine");
  const fs::path script = TRY(resolved(sources.script, false));
  const std::string name = job + "-source";
  json::Object data;
  json::Array items;
  for (const auto& [path, content] : TRY(small_files(script.parent_path()))) {
    const std::string key = "file-" + std::to_string(items.size());
    data[key] = base64_encode(content);
    items.push_back(json::Object{{"key", key}, {"path", path}});
  }
  mount(out.files, "workspace",
        {{"configMap", json::Object{{"name", name}, {"items", std::move(items)}}}}, kWorkspace,
        true);
  out.files.script = (fs::path(kWorkspace) / script.filename()).string();
  out.directory = json::Object{{"apiVersion", "v1"},
                               {"kind", "ConfigMap"},
                               {"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                               {"binaryData", std::move(data)}};
  return out;
}

}  // namespace hekla::cli
