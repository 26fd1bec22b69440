#include "cli/documents/object_names.h"

#include <algorithm>
#include <set>

#include "cli/cluster.h"
#include "cli/jobs/job_kinds.h"

namespace hekla::cli {
namespace {

namespace resources = kube::resources;

const Flag* flag_named(const Command& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const Flag& flag : command.flags)
    if (!flag.is_positional())
      for (const std::string& one : flag.all_names())
        if (one == name) return &flag;
  return nullptr;
}

const Flag* positional(const Command& command, std::size_t number) {
  const Flag* last = nullptr;
  for (const Flag& flag : command.flags) {
    if (!flag.is_positional()) continue;
    last = &flag;
    if (number-- == 0) return last;
  }
  return last && last->takes == Flag::Takes::values ? last : nullptr;
}

Names names_of(const Flag& flag) {
  const std::string name = flag.long_name();
  if (flag.completes != Names::files) return flag.completes;
  if (name == "--namespace") return Names::namespaces;
  if (name == "--queue") return Names::queues;
  return Names::files;
}

void note_value(const std::string& flag, const std::string& value, CursorPlace& place) {
  if (flag == "--namespace") place.ns = value;
  if (flag == "--kubeconfig") place.kubeconfig = value;
  if (flag == "--data-dir") place.data_dir = value;
}

class Asking {
 public:
  Asking(ApiSession& session, const CursorPlace& place) : session_(session), place_(place) {
    if (place_.ns.empty()) place_.ns = session.access().default_namespace;
  }

  std::vector<std::string> names() {
    switch (place_.names) {
      case Names::files:
        break;
      case Names::namespaces:
        add(resources::namespaces);
        break;
      case Names::queues:
        add(resources::queues);
        break;
      case Names::jobs:
        add_jobs();
        break;
      case Names::jobs_and_pods:
        add_jobs();
        add(resources::pods);
        break;
      case Names::objects:
        add_objects();
        break;
    }
    return {found_.begin(), found_.end()};
  }

 private:
  void add(const kube::Resource& resource, const std::string& prefix = {}) {
    Result<json::Value> list =
        session_.call("GET", ApiSession::path_of(resource, place_.ns) + "?limit=500");
    const json::Array* items = list ? json::array_at(*list, {"items"}) : nullptr;
    for (std::size_t i = 0; items && i < items->size(); ++i)
      found_.insert(prefix + std::string(json::string_at((*items)[i], {"metadata", "name"})));
  }

  void add_jobs() {
    for (const JobKind& kind : job_kinds()) add(*kind.resource);
  }

  // Of a type that is named, its objects; else the types, of Kubernetes and Volcano at least.
  void add_objects() {
    const std::size_t slash = place_.current.find('/');
    const std::string type = place_.type.empty() && slash != std::string::npos
                                 ? place_.current.substr(0, slash)
                                 : place_.type;
    if (type.empty()) {
      for (const kube::Resource* one :
           {&resources::pods, &resources::nodes, &resources::services, &resources::config_maps,
            &resources::secrets, &resources::namespaces, &resources::events,
            &resources::persistent_volume_claims, &resources::deployments, &resources::queues,
            &resources::pod_groups, &resources::job_flows, &resources::priority_classes})
        found_.insert(one->plural);
      found_.insert("vcjob");
      for (const JobKind& kind : job_kinds())
        if (kind.resource->group != resources::vcjobs.group &&
            kind.resource->group != resources::batch_jobs.group)
          found_.insert(kind.resource->plural);
      return;
    }
    const bool with_type = place_.type.empty();
    std::string title = lowered(type);
    if (title.ends_with('s')) title.pop_back();
    if (const JobKind* kind = place_.names == Names::objects ? job_kind_of_title(title) : nullptr)
      return add(*kind->resource, with_type ? type + "/" : "");
    if (Result<kube::Resource> resource = find_resource(session_, type))
      add(*resource, with_type ? type + "/" : "");
  }

  ApiSession& session_;
  CursorPlace place_;
  std::set<std::string> found_;
};

}  // namespace

CursorPlace place_at_cursor(const Command& root, const std::vector<std::string>& words) {
  CursorPlace place;
  if (words.empty()) return place;
  place.current = words.back();
  const Command* at = &root;
  std::vector<std::string> arguments;
  const Flag* awaited = nullptr;  // its value is the next word
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (awaited) {
      note_value(awaited->long_name(), word, place);
      awaited = nullptr;
      continue;
    }
    if (word.starts_with('-')) {
      const Flag* flag = flag_named(*at, word);
      if (!flag || flag->takes == Flag::Takes::nothing) continue;
      if (const std::size_t equals = word.find('='); equals != std::string::npos)
        note_value(flag->long_name(), word.substr(equals + 1), place);
      else
        awaited = flag;
      continue;
    }
    auto below = std::ranges::find(at->commands, word, &Command::name);
    if (below != at->commands.end())
      at = &*below;
    else
      arguments.push_back(word);
  }
  const Flag* flag = awaited ? awaited : positional(*at, arguments.size());
  if (!flag) return place;
  place.names = names_of(*flag);
  if (place.names == Names::objects && !arguments.empty() &&
      arguments[0].find('/') == std::string::npos)
    place.type = arguments[0];
  return place;
}

std::vector<std::string> object_names(const CursorPlace& place) {
  if (place.names == Names::files) return {};
  const ClusterFlags flags{
      .kubeconfig = place.kubeconfig, .master = {}, .data_dir = place.data_dir};
  Result<std::unique_ptr<ApiSession>> session = connect(flags);
  return session ? Asking(**session, place).names() : std::vector<std::string>();
}

}  // namespace hekla::cli
