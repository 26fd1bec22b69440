#include "agent/image/build/image_build.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "agent/image/archive_file.h"
#include "agent/image/build/build_copy.h"
#include "agent/image/build/build_machine.h"
#include "agent/image/build/dockerfile.h"
#include "agent/image/layer.h"
#include "agent/image/layer_pack.h"
#include "agent/image/registry/http_transfer.h"
#include "agent/os/user_namespace.h"
#include "base/digest.h"
#include "base/disk.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr const char* kShell[] = {"/bin/sh", "-c"};
constexpr const char* kBuildPath =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// Known without an ARG of their own.
constexpr const char* kProxyArguments[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
                                           "FTP_PROXY",  "ftp_proxy",  "NO_PROXY",    "no_proxy",
                                           "ALL_PROXY",  "all_proxy"};

struct Stage {
  std::string name, bundle;
  std::optional<StoredImage> base;
  bool host = false;
  json::Value config;                            // the whole OCI configuration
  std::map<std::string, std::string> arguments;  // ARGs in force
  bool cmd_given = false;

  std::string rootfs() const { return bundle + "/rootfs"; }
  std::string text(const char* member) const {
    return std::string(json::string_at(config, {"config", member}));
  }
  std::string working_dir() const {
    std::string dir = text("WorkingDir");
    return dir.empty() ? "/" : dir;
  }
  std::vector<std::string> env() const { return read_image_config(config).env; }
  // The image's own, which those built upon it have too.
  std::vector<std::string> shell() const {
    std::vector<std::string> words;
    if (const json::Array* own = json::array_at(config, {"config", "Shell"}))
      for (const json::Value& word : *own)
        if (word.is_string()) words.emplace_back(json::sv(word.get_string()));
    return words.empty() ? std::vector<std::string>(std::begin(kShell), std::end(kShell)) : words;
  }
  json::Value& set(const char* member) { return json::at_path(config, {"config", member}); }
};

json::Array to_array(const std::vector<std::string>& words) {
  json::Array out;
  for (const std::string& word : words) out.emplace_back(word);
  return out;
}

json::Value new_config() {
  const Platform platform = this_platform();
  json::Object config;
  config["architecture"] = platform.architecture;
  config["os"] = platform.os;
  config["config"] = json::Object();
  return config;
}

std::string absolute_in(const std::string& directory, const std::string& path) {
  std::string out = (fs::path(directory) / path).lexically_normal().string();
  if (out.size() > 1 && out.ends_with('/') && !path.ends_with('/')) out.pop_back();
  return out;
}

class Builder {
 public:
  Builder(ImageStore& store, const BuildRequest& request) : store_(store), request_(request) {
    // Known without an ARG before the first FROM; stages name them in one.
    const Platform here = this_platform();
    for (const char* side : {"BUILD", "TARGET"}) {
      globals_[std::string(side) + "PLATFORM"] = here.os + "/" + here.architecture;
      globals_[std::string(side) + "OS"] = here.os;
      globals_[std::string(side) + "ARCH"] = here.architecture;
    }
  }
  Result<StoredImage> build();

 private:
  using Step = Result<void> (Builder::*)(const DockerStep&);
  Result<void> load();
  Result<void> carry_out(const DockerStep& step);
  Result<void> from(const DockerStep& step);
  Result<void> open_stage(const std::string& image);
  Result<std::string> root_of(const std::string& name);
  Result<void> arg(const DockerStep& step);
  Result<void> env(const DockerStep& step);
  Result<void> label(const DockerStep& step);
  Result<void> workdir(const DockerStep& step);
  Result<void> copy(const DockerStep& step);
  Result<void> run(const DockerStep& step);
  Result<std::optional<OciMount>> mount_of(const std::string& text);
  Result<OciMount> cache_mount(const RunMount& mount);
  Result<OciMount> bind_mount(const RunMount& mount);
  Result<void> cmd(const DockerStep& step);
  Result<void> entrypoint(const DockerStep& step);
  Result<void> shell(const DockerStep& step);
  Result<void> text_member(const DockerStep& step);
  Result<void> set_members(const DockerStep& step);
  Result<std::string> download(const std::string& url);
  Result<PackedLook> look_of(const DockerStep& step);
  Result<std::optional<ImageStore::NewLayer>> layer_of(const Stage& stage);
  Result<StoredImage> finish(Stage& stage, const std::vector<ImageReference>& names);
  Result<StoredImage> base_image(const std::string& image);
  std::vector<std::string> shell_form(const DockerStep& step) const;
  VariableLookup variables() const;
  Stage& stage() { return stages_.back(); }
  Result<std::string> word(const std::string& text) {
    return expand_word(text, variables(), file_.escape);
  }

  ImageStore& store_;
  const BuildRequest& request_;
  std::string name_;  // of that file, for errors
  Dockerfile file_;
  DockerIgnore ignored_;
  std::unique_ptr<BuildMachine> machine_;
  FileDescriptor held_;
  std::map<std::string, std::string> globals_;  // ARGs before the first FROM
  std::vector<Stage> stages_;
  std::vector<std::string> temporary_names_;
  std::map<std::string, std::string> roots_;  // of images that files are copied from
};

VariableLookup Builder::variables() const {
  return [this](const std::string& name) -> std::optional<std::string> {
    if (stages_.empty()) {
      auto found = globals_.find(name);
      return found == globals_.end() ? std::nullopt : std::optional(found->second);
    }
    const Stage& stage = stages_.back();
    for (const std::string& entry : stage.env())
      if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
    auto found = stage.arguments.find(name);
    return found == stage.arguments.end() ? std::nullopt : std::optional(found->second);
  };
}

Result<void> Builder::load() {
  const std::string path =
      request_.dockerfile.empty() ? request_.context + "/Dockerfile" : request_.dockerfile;
  Result<std::string> text = read_file(path);
  if (!text) return fail(text.error().code, "failed to read dockerfile: " + text.error().message);
  name_ = fs::path(path).filename();
  file_ = TRY(parse_dockerfile(*text, name_));
  for (const std::string& warning : file_.warnings) request_.print("warning: " + warning + "\n");
  // A file beside the Dockerfile comes before the context's.
  for (const std::string& place : {path + ".dockerignore", request_.context + "/.dockerignore"})
    if (Result<std::string> rules = read_file(place)) {
      ignored_ = DockerIgnore::parse(*rules);
      break;
    }
  return {};
}

Result<StoredImage> Builder::base_image(const std::string& image) {
  ImageReference reference = TRY(parse_reference(image));
  if (!request_.pull)
    if (auto found = TRY(store_.find(reference)); found && !found->manifest.empty()) return *found;
  return store_.pull(reference, request_.logins);
}

Result<void> Builder::open_stage(const std::string& image) {
  Stage& fresh = stage();
  fresh.config = new_config();
  auto earlier = std::find_if(stages_.begin(), stages_.end() - 1, [&](const Stage& other) {
    return !other.name.empty() && other.name == image;
  });
  if (earlier != stages_.end() - 1) {
    // Its contents become a layer to build upon, under a name that goes with the build.
    const std::string name = "localhost/hekla-build/stage-" +
                             std::to_string(earlier - stages_.begin()) + ":" +
                             std::to_string(::getpid());
    temporary_names_.push_back(name);
    fresh.base = TRY(finish(*earlier, {TRY(parse_reference(name))}));
    fresh.arguments = earlier->arguments;
  } else if (image == "scratch") {
    // nothing below
  } else if (request_.images.is_host(image)) {
    fresh.host = true;
  } else {
    fresh.base = TRY(base_image(image));
  }
  if (fresh.base) {
    fresh.host = fresh.base->host;
    fresh.config = TRY(store_.config_of(*fresh.base));
  }
  fresh.bundle = TRY(machine_->mount(store_, fresh.base, fresh.host));
  return {};
}

Result<void> Builder::from(const DockerStep& step) {
  // Only the ARGs above the first FROM are known here.
  auto lookup = [this](const std::string& name) -> std::optional<std::string> {
    auto found = globals_.find(name);
    return found == globals_.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<std::string> words = TRY(expand_words(step.text, lookup, file_.escape));
  bool named = words.size() == 3 && (words[1] == "AS" || words[1] == "as" || words[1] == "As");
  if (words.size() != 1 && !named)
    return fail(Code::invalid, "FROM requires either one or three arguments");
  if (words[0].empty())
    return fail(Code::invalid, "base name (" + step.text + ") should not be blank");
  if (auto wanted = step.flags.find("platform"); wanted != step.flags.end()) {
    const std::string platform = TRY(expand_word(wanted->second, lookup, file_.escape));
    if (platform != globals_["BUILDPLATFORM"])
      return fail(Code::invalid, "--platform=" + platform +
                                     " is not supported: images are built for this machine, " +
                                     globals_["BUILDPLATFORM"]);
  }
  Stage next;
  if (named) next.name = words[2];
  stages_.push_back(std::move(next));
  return open_stage(words[0]);
}

Result<void> Builder::arg(const DockerStep& step) {
  for (const std::string& one : TRY(expand_words(step.text, variables(), file_.escape))) {
    std::size_t equals = one.find('=');
    const std::string name = one.substr(0, equals);
    auto& known = stages_.empty() ? globals_ : stage().arguments;
    auto given = request_.arguments.find(name);
    auto global = globals_.find(name);
    if (given != request_.arguments.end())
      known[name] = given->second;
    else if (equals != std::string::npos)
      known[name] = one.substr(equals + 1);
    else if (!stages_.empty() && global != globals_.end())
      known[name] = global->second;
  }
  return {};
}

Result<void> Builder::env(const DockerStep& step) {
  std::vector<std::string> env = stage().env();
  for (const auto& [name, value] : TRY(expand_pairs(step.text, variables(), file_.escape))) {
    auto old = std::ranges::find_if(
        env, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    if (old == env.end())
      env.push_back(name + "=" + value);
    else
      *old = name + "=" + value;
  }
  stage().set("Env") = to_array(env);
  return {};
}

Result<void> Builder::label(const DockerStep& step) {
  for (const auto& [name, value] : TRY(expand_pairs(step.text, variables(), file_.escape)))
    json::at_path(stage().config, {"config", "Labels", name}) = value;
  return {};
}

Result<void> Builder::workdir(const DockerStep& step) {
  const std::string path = absolute_in(stage().working_dir(), TRY(word(step.text)));
  stage().set("WorkingDir") = path;
  FileDescriptor root(::open(stage().rootfs().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error("open " + stage().rootfs());
  const std::string file = TRY(store_.temporary("workdir"));
  LayerPacker packer;
  TRY(packer.open(file, false));
  // One after the other from above; those that are there keep their looks.
  for (std::size_t end = path.find('/', 1); path != "/"; end = path.find('/', end + 1)) {
    const std::string part = path.substr(1, end == std::string::npos ? end : end - 1);
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    FileDescriptor there(
        static_cast<int>(::syscall(SYS_openat2, root.get(), part.c_str(), &how, sizeof how)));
    if (!there) TRY(packer.add_directory(part, {}));
    if (end == std::string::npos) break;
  }
  TRY(packer.close());
  TRY(unpack_layer(file, stage().rootfs(), {}));
  ::unlink(file.c_str());
  return {};
}

Result<PackedLook> Builder::look_of(const DockerStep& step) {
  PackedLook look{0U, 0U, {}, {}};
  if (auto owner = step.flags.find("chown"); owner != step.flags.end()) {
    Security security;
    TRY(apply_image_user(TRY(word(owner->second)), stage().rootfs(), security));
    look.uid = security.uid;
    look.gid = security.gid;
  }
  if (auto mode = step.flags.find("chmod"); mode != step.flags.end()) {
    const std::string text = TRY(word(mode->second));
    unsigned bits = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), bits, 8);
    if (failed != std::errc{} || end != text.data() + text.size() || bits > 07777)
      return fail(Code::invalid,
                  "invalid chmod parameter: '" + text + "'. it should be octal string");
    look.mode = bits;
  }
  return look;
}

Result<std::string> Builder::root_of(const std::string& name) {
  std::size_t number = 0;
  auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed == std::errc{} && end == name.data() + name.size()) {
    if (number + 1 >= stages_.size()) return fail(Code::invalid, "invalid from flag value " + name);
    return stages_[number].rootfs();
  }
  for (std::size_t i = 0; i + 1 < stages_.size(); ++i)
    if (stages_[i].name == name) return stages_[i].rootfs();
  if (auto known = roots_.find(name); known != roots_.end()) return known->second;
  const bool host = request_.images.is_host(name);
  std::optional<StoredImage> image;
  if (!host) image = TRY(base_image(name));
  return roots_[name] = TRY(machine_->mount(store_, image, host)) + "/rootfs";
}

Result<std::string> Builder::download(const std::string& url) {
  std::string name = url.substr(0, url.find_first_of("?#"));
  name = name.substr(name.rfind('/') + 1);
  if (name.empty()) return fail(Code::invalid, "cannot determine filename for source " + url);
  const std::string directory = TRY(store_.temporary("download"));
  TRY(make_directories(directory));
  FileDescriptor file(
      ::open((directory + "/" + name).c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (!file) return errno_error("create " + directory + "/" + name);
  HttpRequest request;
  request.url = url;
  request.plain_allowed = true;
  request.sink = [&](long, std::string_view piece) {
    return ::write(file.get(), piece.data(), piece.size()) == static_cast<ssize_t>(piece.size());
  };
  HttpReply reply = TRY(http_transfer(request));
  if (!reply.ok())
    return fail(Code::unavailable, "invalid response status " + std::to_string(reply.status));
  return name;
}

Result<std::string> file_digest(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error("open " + path);
  Digest digest;
  char buffer[1 << 16];
  while (true) {
    ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0) return errno_error("read " + path);
    if (n == 0) return "sha256:" + digest.finish_hex();
    digest.add({buffer, static_cast<std::size_t>(n)});
  }
}

Result<void> check_digest(const std::string& path, const std::string& wanted) {
  if (!is_sha256_digest(wanted))
    return fail(Code::invalid, "--checksum=" + wanted + " is not a sha256 digest");
  const std::string found = TRY(file_digest(path));
  if (found == wanted) return {};
  return fail(Code::invalid, "digest mismatch " + found + ": " + wanted);
}

Result<void> Builder::copy(const DockerStep& step) {
  std::vector<std::string> words;
  if (step.list) {
    for (const std::string& one : *step.list) words.push_back(TRY(word(one)));
  } else {
    for (std::string& one : TRY(expand_words(step.text, variables(), file_.escape)))
      if (!one.starts_with("<<") || step.documents.empty()) words.push_back(std::move(one));
  }
  if (words.size() + step.documents.size() < 2 || words.empty())
    return fail(Code::invalid, step.instruction + " requires at least two arguments");
  CopyRequest request;
  request.destination = absolute_in(stage().working_dir(), words.back());
  words.pop_back();
  request.documents = step.documents;
  for (HereDocument& document : request.documents)
    if (document.expand) document.text = TRY(word(document.text));
  request.look = TRY(look_of(step));
  request.temporary = TRY(store_.temporary("copy"));
  request.unpack = step.instruction == "ADD";
  request.from = request_.context;
  request.ignored = &ignored_;
  if (auto other = step.flags.find("from"); other != step.flags.end()) {
    request.from = TRY(root_of(TRY(word(other->second))));
    request.ignored = nullptr;
  }
  const auto checksum = step.flags.find("checksum");
  for (const std::string& source : words) {
    if (step.instruction != "ADD" || source.find("://") == std::string::npos) {
      if (checksum != step.flags.end())
        return fail(Code::invalid, "checksum can't be specified for local sources");
      request.sources.push_back(source);
      continue;
    }
    CopyRequest one = request;
    one.unpack = false;
    one.ignored = nullptr;
    one.documents.clear();
    one.sources = {TRY(download(source))};
    one.from = TRY(store_.temporary("download"));
    if (checksum != step.flags.end())
      TRY(check_digest(one.from + "/" + one.sources[0], TRY(word(checksum->second))));
    if (!one.look.mode) one.look.mode = 0600;
    TRY(copy_into(one, stage().rootfs()));
  }
  if (request.sources.empty() && request.documents.empty()) return {};
  return copy_into(request, stage().rootfs());
}

std::vector<std::string> Builder::shell_form(const DockerStep& step) const {
  if (step.list) return *step.list;
  std::vector<std::string> out = stages_.back().shell();
  std::string script = step.text;
  // A heredoc alone is the script; after a command it is left to the shell.
  if (step.documents.size() == 1 && script.starts_with("<<") &&
      script.find_first_of(" \t") == std::string::npos) {
    script = step.documents[0].text;
  } else {
    for (const HereDocument& document : step.documents)
      script += "\n" + document.text + document.name;
  }
  out.push_back(std::move(script));
  return out;
}

// Shared by the commands of one build, and gone with it: a cache may be empty at any time.
Result<OciMount> Builder::cache_mount(const RunMount& mount) {
  const std::string place = TRY(machine_->scratch(mount.id.empty() ? mount.target : mount.id));
  auto number = [](const std::string& text, int base, unsigned otherwise) -> Result<unsigned> {
    unsigned out = otherwise;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    if (!text.empty() && (failed != std::errc{} || end != text.data() + text.size()))
      return fail(Code::invalid, "\"" + text + "\" is not a number");
    return out;
  };
  const unsigned uid = TRY(number(mount.uid, 10, 0)), gid = TRY(number(mount.gid, 10, 0));
  const unsigned mode = TRY(number(mount.mode, 8, 0755));
  if (change_owner(AT_FDCWD, place.c_str(), uid, gid) != 0 ||
      ::chmod(place.c_str(), mode & 07777) != 0)
    return errno_error("set up the cache " + mount.target);
  return OciMount{mount.target, "none", place, {"bind", "rprivate", "rw"}};
}

Result<OciMount> Builder::bind_mount(const RunMount& mount) {
  const std::string from = mount.from.empty() ? request_.context : TRY(root_of(mount.from));
  FileDescriptor root(::open(from.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error("open " + from);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const std::string source = mount.source.empty() ? "." : mount.source;
  FileDescriptor found(
      static_cast<int>(::syscall(SYS_openat2, root.get(), source.c_str(), &how, sizeof how)));
  if (!found) return errno_error("open the source " + source);
  std::error_code error;
  const fs::path place = fs::read_symlink("/proc/self/fd/" + std::to_string(found.get()), error);
  if (error) return fail(Code::internal, "find " + source + ": " + error.message());
  return OciMount{mount.target, "none", place, {"rbind", "rprivate", "ro"}};
}

// Empty for a secret that was not given and is not required.
Result<std::optional<OciMount>> Builder::mount_of(const std::string& text) {
  RunMount mount = TRY(parse_run_mount(TRY(word(text))));
  mount.target = absolute_in(stage().working_dir(), mount.target);
  if (mount.type == "cache") return TRY(cache_mount(mount));
  if (mount.type == "bind") return TRY(bind_mount(mount));
  if (mount.type == "tmpfs") {
    OciMount tmpfs{mount.target, "tmpfs", "tmpfs", {"nosuid", "nodev"}};
    if (!mount.size.empty()) tmpfs.options.push_back("size=" + mount.size);
    return tmpfs;
  }
  auto secret = request_.secrets.find(mount.id);
  if (secret != request_.secrets.end())
    return OciMount{mount.target, "none", secret->second, {"bind", "rprivate", "ro"}};
  if (mount.required) return fail(Code::invalid, "secret " + mount.id + ": not found");
  return std::nullopt;
}

Result<void> Builder::run(const DockerStep& step) {
  BuildCommand command;
  command.cancelled = request_.cancelled;
  command.rootfs = stage().rootfs();
  command.host = stage().host;
  command.args = shell_form(step);
  command.env = stage().env();
  auto has = [&](const std::string& name) {
    return std::ranges::any_of(command.env,
                               [&](const auto& entry) { return entry.starts_with(name + "="); });
  };
  for (const auto& [name, value] : stage().arguments)
    if (!has(name)) command.env.push_back(name + "=" + value);
  for (const char* name : kProxyArguments)
    if (auto given = request_.arguments.find(name); given != request_.arguments.end() && !has(name))
      command.env.push_back(given->first + "=" + given->second);
  if (!has("PATH")) command.env.emplace_back(kBuildPath);
  command.cwd = stage().working_dir();
  command.user = stage().text("User");
  for (const std::string& text : step.mounts)
    if (std::optional<OciMount> mount = TRY(mount_of(text)))
      command.mounts.push_back(std::move(*mount));
  if (auto network = step.flags.find("network"); network != step.flags.end()) {
    command.network = network->second != "none";
    if (command.network && network->second != "default" && network->second != "host")
      return fail(Code::invalid, "unsupported network mode: " + network->second);
  }
  int code = TRY(machine_->run(command, request_.print));
  if (code == 0) return {};
  std::string said;
  for (const std::string& one : command.args) said += (said.empty() ? "" : " ") + one;
  return fail(Code::invalid, "process \"" + said + "\" did not complete successfully: exit code: " +
                                 std::to_string(code));
}

Result<void> Builder::cmd(const DockerStep& step) {
  stage().set("Cmd") = step.text.empty() ? json::Array() : to_array(shell_form(step));
  stage().cmd_given = true;
  return {};
}

// The base's arguments were for the base's program.
Result<void> Builder::entrypoint(const DockerStep& step) {
  stage().set("Entrypoint") = step.text.empty() ? json::Array() : to_array(shell_form(step));
  if (!stage().cmd_given) stage().set("Cmd") = json::Array();
  return {};
}

Result<void> Builder::shell(const DockerStep& step) {
  if (!step.list || step.list->empty())
    return fail(Code::invalid, "SHELL requires the arguments to be in JSON form");
  stage().set("Shell") = to_array(*step.list);
  return {};
}

Result<void> Builder::text_member(const DockerStep& step) {
  const char* member = step.instruction == "USER" ? "User" : "StopSignal";
  stage().set(member) = TRY(word(step.text));
  return {};
}

Result<void> Builder::set_members(const DockerStep& step) {
  const bool ports = step.instruction == "EXPOSE";
  std::vector<std::string> words =
      step.list ? *step.list : TRY(expand_words(step.text, variables(), file_.escape));
  for (const std::string& one : words) {
    std::string name = one;
    if (ports && name.find('/') == std::string::npos) name += "/tcp";
    json::at_path(stage().config, {"config", ports ? "ExposedPorts" : "Volumes", name}) =
        json::Object();
  }
  return {};
}

Result<void> Builder::carry_out(const DockerStep& step) {
  static const std::map<std::string, Step> kSteps = {{"FROM", &Builder::from},
                                                     {"ARG", &Builder::arg},
                                                     {"ENV", &Builder::env},
                                                     {"LABEL", &Builder::label},
                                                     {"WORKDIR", &Builder::workdir},
                                                     {"COPY", &Builder::copy},
                                                     {"ADD", &Builder::copy},
                                                     {"RUN", &Builder::run},
                                                     {"CMD", &Builder::cmd},
                                                     {"ENTRYPOINT", &Builder::entrypoint},
                                                     {"SHELL", &Builder::shell},
                                                     {"USER", &Builder::text_member},
                                                     {"STOPSIGNAL", &Builder::text_member},
                                                     {"EXPOSE", &Builder::set_members},
                                                     {"VOLUME", &Builder::set_members}};
  if (step.instruction == "MAINTAINER") stage().config.as_object()["author"] = step.text;
  auto found = kSteps.find(step.instruction);
  if (found == kSteps.end()) return {};  // HEALTHCHECK and MAINTAINER
  TRY((this->*found->second)(step));
  json::Object entry;
  entry["created_by"] = step.instruction + " " + step.text;
  entry["empty_layer"] = true;  // all changes are in one layer, which has an entry of its own
  if (!stages_.empty()) {
    json::Value& history = json::at_path(stage().config, {"history"});
    if (!history.is_array()) history = json::Array();
    history.as_array().emplace_back(std::move(entry));
  }
  return {};
}

// The stage's changes, if there are any. A stage that others are still built upon stays as it is.
Result<std::optional<ImageStore::NewLayer>> Builder::layer_of(const Stage& stage) {
  const std::string place = stage.bundle + "/upper";
  if (stage.host && &stage == &stages_.back()) {
    if (fs::is_empty(place)) return std::optional<ImageStore::NewLayer>();
    return ImageStore::NewLayer{{}, {}, place};
  }
  const std::string file = TRY(store_.temporary("layer"));
  FileDescriptor upper(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!upper) return errno_error("open " + place);
  LayerPacker packer;
  TRY(packer.open(file, true));
  TRY(packer.add_upper(upper.get()));
  const bool empty = packer.is_empty();
  TRY(packer.close());
  // An image has at least one layer, unless this machine's file system is below.
  if (empty && (stage.base || stage.host)) return std::optional<ImageStore::NewLayer>();
  return ImageStore::NewLayer{file, TRY(uncompressed_digest(file))};
}

Result<StoredImage> Builder::finish(Stage& stage, const std::vector<ImageReference>& names) {
  std::vector<ImageStore::NewLayer> layers;
  std::optional<ImageStore::NewLayer> layer = TRY(layer_of(stage));
  json::Value config = stage.config;
  config.as_object()["created"] = model::format_rfc3339(real_clock().wall());
  if (layer) {
    layers.push_back(std::move(*layer));
    json::Value& history = json::at_path(config, {"history"});
    if (!history.is_array()) history = json::Array();
    json::Object entry;
    entry["created_by"] = "hekla image build";
    history.as_array().emplace_back(std::move(entry));
  }
  StoredImage image = TRY(store_.add(names[0], stage.base, stage.host, std::move(config), layers));
  for (std::size_t i = 1; i < names.size(); ++i) TRY(store_.tag(image, names[i]));
  return image;
}

Result<StoredImage> Builder::build() {
  TRY(load());
  held_ = TRY(store_.hold_layers());
  machine_ = TRY(BuildMachine::open(request_.store_dir, request_.hidden_paths));
  const bool has_target = std::ranges::any_of(file_.steps, [&](const DockerStep& step) {
    return step.instruction == "FROM" && step.text.ends_with(" " + request_.target);
  });
  if (!request_.target.empty() && !has_target)
    return fail(Code::invalid, "target stage \"" + request_.target + "\" could not be found");
  for (std::size_t i = 0; i < file_.steps.size(); ++i) {
    const DockerStep& step = file_.steps[i];
    if (step.instruction == "FROM" && !request_.target.empty() && !stages_.empty() &&
        stages_.back().name == request_.target)
      break;
    request_.print("[" + std::to_string(i + 1) + "/" + std::to_string(file_.steps.size()) + "] " +
                   step.instruction + " " + step.text + "\n");
    if (Result<void> done = carry_out(step); !done)
      return fail(done.error().code, name_ + ":" + std::to_string(step.line) + ": " +
                                         step.instruction + " " + step.text + ": " +
                                         done.error().message);
  }
  for (const auto& [name, value] : request_.arguments) {
    bool declared = globals_.contains(name) ||
                    std::ranges::any_of(
                        stages_, [&](const Stage& one) { return one.arguments.contains(name); }) ||
                    std::ranges::find(kProxyArguments, name) != std::end(kProxyArguments);
    if (!declared) request_.print("warning: the build argument " + name + " was not consumed\n");
  }
  Result<StoredImage> image = finish(stages_.back(), request_.names);
  machine_.reset();
  held_.close();
  if (!temporary_names_.empty())
    TRY(store_.remove(temporary_names_,
                      [] { return Result<std::set<std::string>>(std::set<std::string>()); }));
  return image;
}

}  // namespace

Result<StoredImage> build_image(ImageStore& store, const BuildRequest& request) {
  return Builder(store, request).build();
}

}  // namespace hekla::agent
