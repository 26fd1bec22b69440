// Job plugins: what a job asks for under spec.plugins. A plugin is one file in plugins/: a class in
// an anonymous namespace and one exported `const JobPluginInfo job_plugin_<file>`. Plugins are
// pure; a job must come out the same in whatever order they run.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "controllers/vocabulary.h"
#include "json/value.h"
#include "kube/client.h"
#include "model/volcano.h"

namespace hekla::controllers {

// The pod being built, for plugins that depend on its place in the job.
struct PodPlace {
  const model::VcJob& job;
  const model::TaskSpec& task;
  std::int32_t index = 0;
};

struct PluginObject {
  kube::Resource resource;
  json::Value body;      // with metadata.name; namespace and owner are filled in
  bool follows = false;  // is written again when the job is scaled
};

class JobPlugin {
 public:
  virtual ~JobPlugin() = default;
  // Edits a pod that is about to be created.
  virtual Result<void> on_pod_create(const PodPlace&, json::Value& /*pod*/) const { return {}; }
  // What the plugin makes for the job; created before its pods, removed when the whole job is
  // killed.
  virtual Result<std::vector<PluginObject>> objects(const model::VcJob&) const {
    return std::vector<PluginObject>{};
  }
  // Names of the objects, for removal without building them.
  virtual std::vector<std::pair<kube::Resource, std::string>> object_names(
      const model::VcJob&) const {
    return {};
  }
};

struct JobPluginInfo {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<JobPlugin> (*make)(const std::vector<std::string>& arguments);
};

// Generated from the file names in plugins/.
std::span<const JobPluginInfo* const> all_job_plugins();
const JobPluginInfo* find_job_plugin(std::string_view name);

struct ActivePlugin {
  std::string name;
  std::shared_ptr<const JobPlugin> plugin;
};
// Arguments by plugin that a job's own come behind, and win over.
using PluginDefaults = std::map<std::string, std::vector<std::string>>;
// The plugins a job asks for; unknown names are an error.
Result<std::vector<ActivePlugin>> make_plugins(const model::VcJobSpec& spec,
                                               const PluginDefaults& defaults = {});

// Go's flag syntax: --name=value, -name value, and a bare -name for a switch. Unknown flags are
// ignored.
class PluginArguments {
 public:
  explicit PluginArguments(const std::vector<std::string>& arguments) : arguments_(arguments) {}
  std::string text(std::string_view name, std::string otherwise) const;
  std::int32_t number(std::string_view name, std::int32_t otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;

 private:
  std::vector<std::string> arguments_;
};

}  // namespace hekla::controllers
