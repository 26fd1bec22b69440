// What the Training Operator (v1.9.4) checks of its jobs, shared by the steps of its kinds. It
// looks at a job as it was sent: nothing has been filled in, and the names of roles count as they
// are written.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/field_errors.h"
#include "kube/admission.h"

namespace hekla::admission {

// metadata.name becomes part of the names of Services.
void check_job_name(const json::Value& job, FieldErrors& errors);
// runPolicy.managedBy; `old` is null for a new job.
void check_managed_by(const json::Value& job, const json::Value* old, FieldErrors& errors);

struct RoleRules {
  std::string_view map;                          // the member of spec
  std::string_view container;                    // every role has one of this name
  std::string_view shown_container = container;  // in refusals
  std::vector<std::string_view> roles = {};      // empty: any
};
// The roles are there, are known, and have containers with images. Shows each to `more`, with its
// path, for what only some kinds ask.
void check_roles(const json::Value& job, const RoleRules& rules, FieldErrors& errors,
                 const std::function<void(std::string_view role, const json::Value& spec,
                                          const std::string& path)>& more = {});

}  // namespace hekla::admission
