#include "apiserver/text/errors.h"

#include "apiserver/text/field_error.h"

namespace hekla::apiserver {

namespace {

Error about(Code code, std::string message, const kube::Resource& resource, std::string_view name) {
  Error error{code, std::move(message)};
  error.details.name = name;
  error.details.group = resource.group;
  error.details.kind = resource.plural;
  return error;
}

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

}  // namespace

std::string qualified(const kube::Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

Error not_found_error(const kube::Resource& resource, std::string_view name) {
  return about(Code::not_found, qualified(resource) + " " + quoted(name) + " not found", resource,
               name);
}

Error already_exists_error(const kube::Resource& resource, std::string_view name) {
  return about(Code::already_exists, qualified(resource) + " " + quoted(name) + " already exists",
               resource, name);
}

Error conflict_error(const kube::Resource& resource, std::string_view name, std::string_view why) {
  return about(Code::conflict,
               "Operation cannot be fulfilled on " + qualified(resource) + " " + quoted(name) +
                   ": " + std::string(why),
               resource, name);
}

Error modified_error(const kube::Resource& resource, std::string_view name) {
  return conflict_error(resource, name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
}

Error forbidden_error(const kube::Resource& resource, std::string_view name, std::string_view why) {
  std::string who = qualified(resource);
  if (!name.empty()) who += " " + quoted(name);
  return about(Code::forbidden, who + " is forbidden: " + std::string(why), resource, name);
}

Error method_error(const kube::Resource& resource, std::string_view verb) {
  return about(
      Code::method_not_allowed,
      std::string(verb) + " is not supported on resources of kind " + quoted(qualified(resource)),
      resource, {});
}

Error invalid_options_error(std::string_view kind, Cause cause) {
  kube::Resource options{"meta.k8s.io", "v1", "", std::string(kind), false};
  return invalid_object(options, "", {std::move(cause)});
}

Error too_busy_error() {
  Error error{Code::too_many_requests,
              "the server has received too many requests and has asked us "
              "to try again later"};
  error.details.retry_after_seconds = 1;
  return error;
}

Error bad_request_error(std::string message) {
  return Error{Code::bad_request, std::move(message)};
}

Error no_such_resource_error() {
  return Error{Code::not_found, "the server could not find the requested resource"};
}

Error unsupported_method_error() {
  return Error{Code::method_not_allowed,
               "the server does not allow this method on the requested resource"};
}

}  // namespace hekla::apiserver
