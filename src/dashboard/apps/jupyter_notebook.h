// A Notebook out of the form's body, and a Notebook as the list shows it. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::dashboard {

// The form's defaults: upstream's, unless the ConfigMap jupyter-web-app-config says otherwise.
json::Value spawner_defaults();
json::Value spawner_config(const json::Value& config_map);

struct NewNotebook {
  json::Value notebook;
  std::vector<json::Value> claims;
};
// Errors are bad_request in upstream's words.
Result<NewNotebook> notebook_from_form(const json::Value& body, const json::Value& config,
                                       const std::string& ns, const std::string& user);

// {"phase", "message", "state"}; `events` are the notebook's own.
json::Object notebook_status(const json::Value& notebook, const json::Array& events, WallTime now);
json::Object notebook_row(const json::Value& notebook, const json::Array& events, WallTime now);

json::Object status_object(std::string_view phase, std::string_view message);

}  // namespace hekla::dashboard
