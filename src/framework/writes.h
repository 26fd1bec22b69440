// The writes of controllers, each in one line: for the runtime and for loops without children.
#pragma once

#include <optional>
#include <string>

#include "framework/any_object.h"
#include "kube/client.h"

namespace hekla::framework {

// `body` has its metadata.name, or metadata.generateName.
kube::Write create(const kube::Resource& resource, const std::string& ns, json::Value body);
kube::Write merge_patch(const kube::Resource& resource, kube::Key key, json::Value patch,
                        std::string subresource = {});
// Server-side apply, forced: creates what is missing.
kube::Write apply_patch(const kube::Resource& resource, const std::string& ns, json::Value body);
// With a uid only that very object is removed.
kube::Write remove(const kube::Resource& resource, kube::Key key, std::string uid = {});

// The merge patch that turns one status into another; nothing when they are equal.
std::optional<kube::Write> status_write(const kube::Resource& resource, const kube::Key& key,
                                        const json::Value& stored, const json::Object& wanted);

}  // namespace hekla::framework
