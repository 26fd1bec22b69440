// Where `hekla image build` runs commands: containers of the same runtime as the pods', in a mount
// namespace of the builds' own. One build at a time; the next one takes away what a crash left.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/image/host_image.h"
#include "agent/image/image_store.h"
#include "agent/runtime/container_runtime.h"
#include "base/result.h"

namespace hekla::agent {

struct BuildCommand {
  std::string rootfs;
  bool host = false;  // the root is this machine's own
  std::vector<std::string> args, env;
  std::string cwd, user;
  std::vector<OciMount> mounts;
  bool network = true;  // this machine's, or none
  const std::atomic<bool>* cancelled = nullptr;
};

// One owner, one thread, which stays in the namespace while this lives. Needs root.
class BuildMachine {
  struct Private {};

 public:
  // Below `store_dir`; `hidden_paths` are never shown in a root that is this machine's own.
  static Result<std::unique_ptr<BuildMachine>> open(const std::string& store_dir,
                                                    std::vector<std::string> hidden_paths);
  BuildMachine(Private, InstancePaths paths, RuntimePrograms programs,
               std::vector<std::string> hidden_paths);
  ~BuildMachine();

  // A fresh root: of an image, of this machine (host without image), or empty. The bundle's
  // directory: rootfs and upper are in it.
  Result<std::string> mount(const ImageStore& store, const std::optional<StoredImage>& image,
                            bool host);
  // The exit code; what it prints is handed over line by line.
  Result<int> run(const BuildCommand& command, const std::function<void(std::string_view)>& print);
  // A directory that is shared by the commands of this build and goes with it.
  Result<std::string> scratch(const std::string& name);

 private:
  Result<void> prepare();
  Result<void> clean();

  InstancePaths paths_;
  HostImage host_;
  ContainerRuntime runtime_;
  FileDescriptor lock_;
  std::unique_ptr<InstanceNamespace> namespace_;
  std::vector<std::string> bundles_;
  int commands_ = 0;
};

}  // namespace hekla::agent
