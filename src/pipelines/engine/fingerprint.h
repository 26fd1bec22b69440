// The cache key of a container task: SHA-256 over canonical JSON, equal to the original's byte for
// byte, so that both agree on what is the same step.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::engine {

struct FingerprintParts {
  std::string image;
  std::vector<std::string> command;          // command and args, before anything is filled in
  std::vector<std::string> claims;           // mounted volume claims
  const json::Object* parameters = nullptr;  // of the inputs
  json::Object artifact_names;               // input: [names]
  json::Object output_artifacts;             // output: {name, type, metadata}
  json::Object output_parameters;            // output: "STRING"
};

std::string fingerprint(const FingerprintParts& parts);
// With a key that the author has chosen nothing else counts.
std::string fingerprint_of_key(const std::string& component, const std::string& cache_key);

}  // namespace hekla::pipelines::engine
