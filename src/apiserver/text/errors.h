// The refusals of the API in upstream's words. Clients print the texts and branch on code and
// details.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client.h"

namespace hekla::apiserver {

// "deployments.apps", "pods".
std::string qualified(const kube::Resource& resource);

Error not_found_error(const kube::Resource& resource, std::string_view name);
Error already_exists_error(const kube::Resource& resource, std::string_view name);
// `Operation cannot be fulfilled on pods "x": <why>`.
Error conflict_error(const kube::Resource& resource, std::string_view name, std::string_view why);
Error modified_error(const kube::Resource& resource, std::string_view name);
// `pods "x" is forbidden: <why>`.
Error forbidden_error(const kube::Resource& resource, std::string_view name, std::string_view why);
Error method_error(const kube::Resource& resource, std::string_view verb);
// `<Kind>.meta.k8s.io "" is invalid: <field>: ...` for options objects (ListOptions,
// CreateOptions).
Error invalid_options_error(std::string_view kind, Cause cause);
Error too_busy_error();
Error bad_request_error(std::string message);
Error unsupported_method_error();
// A path that names nothing the server knows.
Error no_such_resource_error();

}  // namespace hekla::apiserver
