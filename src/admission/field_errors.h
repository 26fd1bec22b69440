// Refusals as Kubernetes' field errors word them, collected as controller-runtime's webhooks do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::admission {

class FieldErrors {
 public:
  void required(std::string_view path, std::string_view detail);
  void forbidden(std::string_view path, std::string_view detail);
  void invalid(std::string_view path, const json::Value& value, std::string_view detail);
  void invalid_text(std::string_view path, std::string_view value, std::string_view detail);
  // The value as text that is JSON already: for structs whose members Go does not sort.
  void invalid_raw(std::string_view path, std::string_view value, std::string_view detail);
  void unsupported(std::string_view path, std::string_view value,
                   const std::vector<std::string_view>& supported);
  void duplicate(std::string_view path, std::string_view value);
  void too_long(std::string_view path, std::size_t bytes_max);
  // An error that names no field.
  void internal(std::string_view detail);

  bool empty() const { return messages_.empty(); }
  // One message as it is, several in brackets.
  std::string text() const;
  // What validating webhooks answer with; success when there is nothing to say.
  Result<void> refusal(std::string_view introduction = {}) const;

 private:
  void add(std::string_view path, std::string_view kind, std::string_view detail);
  std::vector<std::string> messages_;  // each once
};

// The rules for spec.managedBy and runtimePatches[].manager: acme.io/foo.
void check_domain_prefixed_path(std::string_view path, std::string_view value, FieldErrors& errors);

}  // namespace hekla::admission
