#include "pipelines/engine/fingerprint.h"

#include <set>

#include "base/crypto.h"
#include "json/go_text.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::engine {
namespace {

void put(json::Object& object, std::string_view name, json::Value value) {
  const bool empty = (value.is_object() && value.get_object().empty()) ||
                     (value.is_array() && value.get_array().empty()) ||
                     (value.is_string() && value.get_string().empty());
  if (!empty) object.emplace(name, std::move(value));
}

}  // namespace

std::string fingerprint(const FingerprintParts& parts) {
  json::Object container;
  json::Array command, claims;
  for (const std::string& word : parts.command) command.emplace_back(word);
  for (const std::string& claim : std::set(parts.claims.begin(), parts.claims.end()))
    claims.emplace_back(claim);
  put(container, "image", json::Value(std::string_view(parts.image)));
  put(container, "cmdArgs", std::move(command));
  put(container, "pvcNames", std::move(claims));
  json::Object names;
  for (const auto& member : parts.artifact_names)
    names.emplace(member.key(), json::Object{{"artifactNames", member.value()}});
  json::Object key;
  put(key, "containerSpec", std::move(container));
  put(key, "inputArtifactNames", std::move(names));
  if (parts.parameters) put(key, "inputParameterValues", ir::plain_numbers(*parts.parameters));
  put(key, "outputArtifactsSpec", parts.output_artifacts);
  put(key, "outputParametersSpec", parts.output_parameters);
  return sha256_hex(json::go_text(key));
}

std::string fingerprint_of_key(const std::string& component, const std::string& cache_key) {
  return sha256_hex(component + std::string(1, '\0') + cache_key);
}

}  // namespace hekla::pipelines::engine
