// Pods from templates, the editing of templates, and questions about pods: what every kind that
// makes pods needs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla::framework {

bool pod_finished(const model::Pod& pod);
// Neither finished nor on its way out.
bool pod_active(const model::Pod& pod);
bool pod_ready(const model::Pod& pod);
// Ready for at least `min_ready` seconds. When it is not yet, `wait` is lowered to the time left.
bool pod_available(const model::Pod& pod, std::int64_t min_ready, WallTime now,
                   std::optional<Nanos>& wait);
void wake_in(std::optional<Nanos>& wait, Nanos delay);
// How the container ended; nothing while it runs, and when there is no such container.
std::optional<std::int32_t> exit_code_of(const model::Pod& pod, std::string_view container);

// {metadata: {labels, annotations, finalizers}, spec} of a pod template {metadata, spec}: the body,
// or the base of many bodies, of a Child. Name, namespace and owner are not in it.
json::Value pod_from_template(const json::Value& pod_template);

// Editing of a pod or a pod template.
// `initialisers` are the init containers.
void for_each_container(json::Value& pod, bool initialisers,
                        const std::function<void(json::Object& container)>& visit);
// Replaces a variable of that name in its place, else appends. An object is a valueFrom.
void set_env(json::Object& container, std::string_view name, json::Value value_or_source);
// Unless something is mounted at that path.
void add_mount(json::Object& container, json::Value mount);
// Unless a volume has that name.
void add_volume(json::Value& pod, json::Value volume);
// Adds {name, containerPort, protocol TCP} unless a port of that name or number is there.
void add_port(json::Object& container, std::string_view name, std::int32_t port);

}  // namespace hekla::framework
