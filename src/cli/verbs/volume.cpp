// hekla volume: directories of this machine as volumes.
#include <cstdio>
#include <memory>

#include "cli/verb.h"
#include "cli/workbench/host_volume.h"
#include "cli/workbench/workbench.h"

namespace hekla::cli {
namespace {

struct VolumeOptions {
  WorkbenchFlags where;
  std::string directory;
  bool read_only = false;
};

Result<void> add(ApiSession& session, const VolumeOptions& options) {
  const std::string ns = TRY(home_namespace(session, options.where));
  TRY(add_host_volume(session, {ns, options.where.name, options.directory, options.read_only}));
  std::printf("volume %s of namespace %s is %s\n", options.where.name.c_str(), ns.c_str(),
              options.directory.c_str());
  return {};
}

std::vector<Command> volume_commands(const Context&) {
  auto options = std::make_shared<VolumeOptions>();
  Command made{.name = "add",
               .summary = "a directory of this machine as a volume that pods can mount",
               .flags = workbench_flags(options->where)};
  append(made.flags, {Flag("name", options->where.name, "of the claim").must_be_given(),
                      Flag("directory", options->directory, "the directory").must_be_given(),
                      Flag("--read-only", options->read_only, "pods may only read it")});
  made.run = on_cluster(options->where.cluster,
                        [options](ApiSession& session) { return add(session, *options); });
  Command volumes{.name = "volume", .summary = "volumes on directories of this machine"};
  volumes.commands = {std::move(made)};
  volumes.footer =
      "Examples:\n"
      "  hekla volume add data /srv/data --read-only\n"
      "  hekla notebook create lab --volume data:/data\n"
      "The directory stays when the volume is deleted.";
  return {std::move(volumes)};
}

}  // namespace

extern const Verb verb_volume;
const Verb verb_volume{"volume", volume_commands};

}  // namespace hekla::cli
