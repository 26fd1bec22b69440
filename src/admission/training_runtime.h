// What the Trainer (2.3) finds in a runtime: its replicated jobs and their containers.
#pragma once

#include <string>
#include <string_view>

#include "admission/field_errors.h"
#include "json/value.h"

namespace hekla::admission {

inline constexpr std::string_view kDatasetInitializer = "dataset-initializer";
inline constexpr std::string_view kModelInitializer = "model-initializer";
inline constexpr std::string_view kNode = "node", kLauncher = "launcher";

const json::Array& replicated_jobs_of(const json::Value& runtime);
// By name; null without one.
const json::Value* find_replicated_job(const json::Value& runtime, std::string_view name);
// Also among its init containers; null without one.
const json::Value* find_container(const json::Value& replicated_job, std::string_view name);

// A job that stands for a step of a TrainJob is one Job and has the container the step runs in.
void check_steps(const json::Value& runtime, FieldErrors& errors);
// The label trainer.kubeflow.org/support says so.
bool is_deprecated(const json::Value& runtime);
// `<what> "<name>" is deprecated and ...`.
std::string deprecation_warning(std::string_view what, std::string_view name);

}  // namespace hekla::admission
