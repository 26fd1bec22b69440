#include "main/standin/component_table.h"

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "json/parse.h"

namespace hekla {
namespace {

// Parts that do not stand down for their originals.
constexpr std::array<std::string_view, 11> kNeeded{
    "admission",   "controllers", "local-path", "notebooks", "objects",     "pipelines",
    "poddefaults", "profiles",    "pvcviewers", "scheduler", "tensorboards"};

std::vector<std::string> texts_at(const json::Value& value, std::string_view member) {
  std::vector<std::string> out;
  if (const json::Array* all = json::array_at(value, {member}))
    for (const json::Value& one : *all)
      if (one.is_string()) out.emplace_back(json::sv(one.get_string()));
  return out;
}

Result<ShownWorkload> parse_shown(const json::Value& value) {
  ShownWorkload out;
  out.ns = json::text_at(value, {"namespace"});
  out.name = json::text_at(value, {"name"});
  out.container = json::text_at(value, {"container"});
  if (out.container.empty()) out.container = out.name;
  out.helm = json::text_at(value, {"helm"});
  out.once = json::text_at(value, {"once"});
  if (const json::Object* labels = json::object_at(value, {"labels"}))
    for (const auto& one : *labels)
      if (one.value().is_string()) out.labels[one.key()] = json::sv(one.value().get_string());
  if (const json::Array* ports = json::array_at(value, {"ports"}))
    for (const json::Value& port : *ports)
      out.ports.push_back({json::text_at(port, {"name"}), json::int_at(port, {"port"}),
                           json::int_at(port, {"target"})});
  if (out.ns.empty() || out.name.empty() || out.labels.empty())
    return fail(Code::invalid, "shown: namespace, name and labels are needed");
  return out;
}

Result<Component> parse_component(const json::Value& value) {
  Component out;
  out.name = json::text_at(value, {"name"});
  for (const std::string& image : texts_at(value, "images"))
    out.images.push_back(image_path(image));
  out.workloads = texts_at(value, "workloads");
  out.part = json::text_at(value, {"part"});
  out.once = json::text_at(value, {"once"});
  if (out.once.empty()) out.once = out.part;
  out.webhooks = texts_at(value, "webhooks");
  if (out.name.empty() || out.images.empty() || out.part.empty())
    return fail(Code::invalid, "component \"" + out.name + "\": name, images and part are needed");
  if (const json::Value* shown = json::find(value, "shown")) out.shown = TRY(parse_shown(*shown));
  return out;
}

bool ends_with_path(std::string_view path, std::string_view end) {
  return path.ends_with(end) &&
         (path.size() == end.size() || path[path.size() - end.size() - 1] == '/');
}

// namespace/name of the workload that a pod belongs to; a pod of nobody's has none.
std::string workload_of(std::string_view ns, const json::Value& pod) {
  const json::Array* owners = json::array_at(pod, {"metadata", "ownerReferences"});
  if (!owners) return {};
  for (const json::Value& owner : *owners) {
    if (!json::bool_at(owner, {"controller"})) continue;
    std::string name = json::text_at(owner, {"name"});
    if (json::string_at(owner, {"kind"}) == "ReplicaSet")
      name.erase(std::min(name.rfind('-'), name.size()));
    return std::string(ns) + "/" + name;
  }
  return {};
}

}  // namespace

std::string image_path(std::string_view reference) {
  reference = reference.substr(0, reference.find('@'));
  const std::size_t slash = reference.rfind('/');
  const std::size_t colon = reference.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash))
    reference = reference.substr(0, colon);
  const std::size_t first = reference.find('/');
  if (first != std::string_view::npos) {
    const std::string_view host = reference.substr(0, first);
    if (host.find_first_of(".:") != std::string_view::npos || host == "localhost")
      reference.remove_prefix(first + 1);
  }
  if (reference.starts_with("library/")) reference.remove_prefix(8);
  std::string path(reference);
  std::ranges::replace(path, '_', '/');
  return path;
}

bool is_sidecar_image(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kSidecars{
      "kube-rbac-proxy", "istio/proxyv2", "istio-release/proxyv2", "oauth2-proxy/oauth2-proxy"};
  return std::ranges::any_of(kSidecars,
                             [&](std::string_view one) { return ends_with_path(path, one); });
}

Result<ComponentTable> ComponentTable::parse(std::span<const std::string_view> yamls) {
  ComponentTable table;
  for (std::string_view yaml : yamls)
    for (const json::YamlDocument& document : TRY(json::parse_yaml(yaml))) {
      if (!document.value.is_array())
        return fail(Code::invalid, "a list of components is expected");
      for (const json::Value& one : document.value.get_array()) {
        Component component = TRY(parse_component(one));
        if (table.find(component.name))
          return fail(Code::invalid, "component \"" + component.name + "\" is there twice");
        table.all_.push_back(std::move(component));
      }
    }
  return table;
}

Result<void> ComponentTable::leave_out(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Component* component = find(name);
    if (!component) {
      std::vector<std::string> known;
      for (const Component& one : all_) known.push_back(one.name);
      const std::string near = nearest_name(name, known);
      return fail(Code::bad_request, "--without " + name + ": there is no such component" +
                                         (near.empty() ? "" : ", did you mean " + near + "?"));
    }
    if (std::ranges::find(kNeeded, component->part) != kNeeded.end())
      return fail(Code::bad_request, "--without " + name + ": hekla up cannot be without it");
  }
  std::erase_if(all_, [&](const Component& one) {
    return std::ranges::find(names, one.name) != names.end();
  });
  return {};
}

const Component* ComponentTable::find(std::string_view name) const {
  auto found = std::ranges::find(all_, name, &Component::name);
  return found == all_.end() ? nullptr : &*found;
}

const Component* ComponentTable::of_image(std::string_view path,
                                          const std::string& workload) const {
  for (const Component& component : all_) {
    if (!component.workloads.empty() &&
        std::ranges::find(component.workloads, workload) == component.workloads.end())
      continue;
    if (std::ranges::any_of(component.images,
                            [&](const std::string& end) { return ends_with_path(path, end); }))
      return &component;
  }
  return nullptr;
}

const Component* ComponentTable::recognise(std::string_view ns, const json::Value& pod) const {
  const json::Array* containers = json::array_at(pod, {"spec", "containers"});
  if (!containers) return nullptr;
  const std::string workload = workload_of(ns, pod);
  const Component* found = nullptr;
  for (const json::Value& container : *containers) {
    const std::string path = image_path(json::string_at(container, {"image"}));
    const Component* component = of_image(path, workload);
    if (!component && !is_sidecar_image(path)) return nullptr;
    if (!found) found = component;
  }
  return found;
}

const Component* ComponentTable::of_any(std::string_view image) const {
  return of_image(image_path(image), {});
}

bool is_built_in(std::string_view image) {
  Result<ComponentTable> table = ComponentTable::parse(component_yamls());
  return is_sidecar_image(image_path(image)) || (table && table->of_any(image));
}

bool ComponentTable::answers(std::string_view ns, std::string_view service) const {
  const std::string key = std::string(ns) + "/" + std::string(service);
  return std::ranges::any_of(all_, [&](const Component& component) {
    return std::ranges::find(component.webhooks, key) != component.webhooks.end();
  });
}

}  // namespace hekla
