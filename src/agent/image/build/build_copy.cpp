#include "agent/image/build/build_copy.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "agent/image/archive_file.h"
#include "agent/image/layer.h"
#include "agent/os/file_descriptor.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

// "/" of every link is `root`.
FileDescriptor open_in_root(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const char* name = path.empty() ? "." : path.c_str();
  return FileDescriptor(static_cast<int>(::syscall(SYS_openat2, root, name, &how, sizeof how)));
}

bool is_directory_in(int root, const std::string& path) {
  return static_cast<bool>(open_in_root(root, path, O_PATH | O_DIRECTORY));
}

Result<std::string> clean_source(const std::string& source) {
  std::string path = fs::path("/" + source).lexically_normal().string().substr(1);
  // Above the root there is nothing: "../x" would silently mean "x".
  if (fs::path(source).lexically_normal().string().starts_with(".."))
    return fail(Code::invalid, "forbidden path outside the build context: " + source);
  while (path.ends_with('/')) path.pop_back();
  return path == "." ? "" : path;
}

class Copier {
 public:
  Copier(const CopyRequest& request, FileDescriptor from, FileDescriptor root)
      : request_(request), from_(std::move(from)), root_(std::move(root)) {}
  Result<void> run(const std::string& root_path);

 private:
  Result<std::vector<std::string>> find(const std::string& source);
  Result<void> walk(const std::string& directory, const std::string& pattern,
                    std::vector<std::string>& found);
  Result<void> take(const std::string& path, bool into_directory, const std::string& root_path);
  Result<void> take_archive(const std::string& path, const std::string& root_path, bool& taken);
  bool is_ignored(const std::string& path) const {
    return request_.ignored && !path.empty() && request_.ignored->ignores(path);
  }

  const CopyRequest& request_;
  FileDescriptor from_, root_;
  LayerPacker packer_;
  std::string target_;  // without slashes at either end
};

Result<void> Copier::walk(const std::string& directory, const std::string& pattern,
                          std::vector<std::string>& found) {
  FileDescriptor here = open_in_root(from_.get(), directory, O_RDONLY | O_DIRECTORY);
  if (!here) return {};
  std::error_code error;
  std::vector<std::string> names;
  const fs::path place = "/proc/self/fd/" + std::to_string(here.get());
  for (const fs::directory_entry& entry : fs::directory_iterator(place, error))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  std::size_t slash = pattern.find('/');
  for (const std::string& name : names) {
    if (!matches_path(pattern.substr(0, slash), name)) continue;
    std::string path = directory.empty() ? name : directory + "/" + name;
    if (slash != std::string::npos)
      TRY(walk(path, pattern.substr(slash + 1), found));
    else if (!is_ignored(path))
      found.push_back(std::move(path));
  }
  return {};
}

Result<std::vector<std::string>> Copier::find(const std::string& source) {
  std::string path = TRY(clean_source(source));
  std::vector<std::string> found;
  if (path.find_first_of("*?[") != std::string::npos) TRY(walk("", path, found));
  if (found.empty()) {
    bool kept = request_.ignored && request_.ignored->has_exceptions();
    if (!open_in_root(from_.get(), path, O_PATH) || (is_ignored(path) && !kept))
      return fail(Code::not_found,
                  "file not found in build context or excluded by .dockerignore: \"" + source +
                      "\" not found");
    found.push_back(path);
  }
  return found;
}

Result<void> Copier::take_archive(const std::string& path, const std::string& root_path,
                                  bool& taken) {
  FileDescriptor file = open_in_root(from_.get(), path, O_RDONLY);
  if (!file) return errno_error("open " + path);
  const std::string place = "/proc/self/fd/" + std::to_string(file.get());
  Result<std::set<std::string>> names = archive_names(place);
  taken = names && !names->empty();
  if (!taken) return {};
  FileDescriptor target = open_in_root(root_.get(), target_, O_RDONLY | O_DIRECTORY);
  if (!target) {
    LayerPacker way;
    TRY(way.open(request_.temporary, false));
    TRY(way.add_directory(target_, request_.look));
    TRY(way.close());
    TRY(unpack_layer(request_.temporary, root_path, {}));
    target = open_in_root(root_.get(), target_, O_RDONLY | O_DIRECTORY);
  }
  if (!target) return errno_error("open " + request_.destination);
  TRY(unpack_layer(place, "/proc/self/fd/" + std::to_string(target.get()), {}));
  return {};
}

Result<void> Copier::take(const std::string& path, bool into_directory,
                          const std::string& root_path) {
  FileDescriptor found = open_in_root(from_.get(), path, O_PATH);
  struct stat info{};
  if (!found || ::fstat(found.get(), &info) != 0) return errno_error("open " + path);
  if (S_ISDIR(info.st_mode)) {
    PackedLook look = request_.look;
    if (request_.ignored) {
      look.skip = [this, path](const std::string& below) -> bool {
        const std::string inner = path.empty() ? below : path + "/" + below;
        if (!is_ignored(inner)) return false;
        // A directory may hold what a later rule brings back.
        return !(request_.ignored->has_exceptions() && is_directory_in(from_.get(), inner));
      };
    }
    if (!target_.empty() && !is_directory_in(root_.get(), target_))
      TRY(packer_.add_directory(target_, request_.look));
    FileDescriptor directory = open_in_root(from_.get(), path, O_RDONLY | O_DIRECTORY);
    if (!directory) return errno_error("open " + path);
    return packer_.add(directory.get(), ".", target_, look);
  }
  bool taken = false;
  if (request_.unpack) TRY(take_archive(path, root_path, taken));
  if (taken) return {};
  // A link that is named itself means what it leads to.
  const fs::path real = fs::read_symlink("/proc/self/fd/" + std::to_string(found.get())).string();
  FileDescriptor parent(::open(real.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return errno_error("open " + real.parent_path().string());
  const std::string name = fs::path(path).filename();
  std::string target = target_;
  if (into_directory) target += (target.empty() ? "" : "/") + name;
  return packer_.add(parent.get(), real.filename(), target, request_.look);
}

Result<void> Copier::run(const std::string& root_path) {
  const std::string& destination = request_.destination;
  target_ = fs::path(destination).lexically_normal().string().substr(1);
  while (target_.ends_with('/')) target_.pop_back();
  if (target_ == ".") target_.clear();
  std::vector<std::string> paths;
  bool wild = false;
  for (const std::string& source : request_.sources) {
    std::vector<std::string> found = TRY(find(source));
    wild = wild || found.size() > 1;
    paths.insert(paths.end(), found.begin(), found.end());
  }
  const bool several = wild || request_.sources.size() + request_.documents.size() > 1;
  if (several && !destination.ends_with('/') && !is_directory_in(root_.get(), target_))
    return fail(Code::invalid,
                "when using COPY with more than one source file, the destination "
                "must be a directory and end with a /");
  const bool into = destination.ends_with('/') || is_directory_in(root_.get(), target_);
  // Opened after the archives of ADD have used the same file.
  TRY(packer_.open(request_.temporary + ".copy", false));
  for (const std::string& path : paths) TRY(take(path, into, root_path));
  for (const HereDocument& document : request_.documents) {
    const std::string target =
        into ? target_ + (target_.empty() ? "" : "/") + document.name : target_;
    TRY(packer_.add_text(target, document.text, request_.look));
  }
  TRY(packer_.close());
  TRY(unpack_layer(request_.temporary + ".copy", root_path, {}));
  ::unlink((request_.temporary + ".copy").c_str());
  ::unlink(request_.temporary.c_str());
  return {};
}

}  // namespace

Result<void> copy_into(const CopyRequest& request, const std::string& root) {
  FileDescriptor from(::open(request.from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!from) return errno_error("open " + request.from);
  FileDescriptor into(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!into) return errno_error("open " + root);
  return Copier(request, std::move(from), std::move(into)).run(root);
}

}  // namespace hekla::agent
