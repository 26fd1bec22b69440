#include "controllers/workbench/event_mirror.h"

#include <charconv>

#include "json/parse.h"

namespace hekla::controllers::workbench {
namespace {

const kube::Resource notebooks{"kubeflow.org", "v1", "notebooks", "Notebook"};
constexpr std::string_view kPodSuffix = "-0";

// The notebook that an event would be about; empty when it is about none.
std::string notebook_of(std::string_view kind, std::string_view name) {
  if (kind == "StatefulSet") return std::string(name);
  if (kind != "Pod" || !name.ends_with(kPodSuffix)) return {};
  name.remove_suffix(kPodSuffix.size());
  return std::string(name);
}

}  // namespace

EventMirror::EventMirror(kube::CacheSet& caches)
    : notebooks_(caches.of<framework::AnyObject>(notebooks)),
      recorder_(caches.client(), "notebook-controller"),
      events_(caches.client(), kube::resources::events, {},
              {.replace = [](const kube::List&) {},
               .apply = [this](const kube::WatchEvent& event) { look_at(event); },
               .settled = [] {}}) {}

void EventMirror::look_at(const kube::WatchEvent& event) {
  if (!event.object || event.type == kube::WatchEvent::Type::deleted || notebooks_.size() == 0)
    return;
  Result<json::Value> told = json::parse(*event.object->json);
  if (!told) return;
  const std::string_view kind = json::string_at(*told, {"involvedObject", "kind"});
  const std::string_view name = json::string_at(*told, {"involvedObject", "name"});
  auto notebook = notebooks_.get({event.object->ns, notebook_of(kind, name)});
  if (!notebook) return;
  const model::ObjectMeta& metadata = notebook->metadata;
  kube::EventTarget target{notebooks.api_version(), notebooks.kind, metadata.ns, metadata.name,
                           metadata.uid};
  const std::string& version = metadata.resourceVersion;
  std::from_chars(version.data(), version.data() + version.size(), target.resource_version);
  const std::string from = kind == "Pod" ? "pod/" : "statefulset/";
  recorder_.record(
      target, json::text_at(*told, {"type"}), json::text_at(*told, {"reason"}),
      "Reissued from " + from + std::string(name) + ": " + json::text_at(*told, {"message"}));
}

}  // namespace hekla::controllers::workbench
