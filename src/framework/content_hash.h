// A number for a JSON value that does not depend on the order of its members.
#pragma once

#include <cstdint>
#include <string>

#include "json/value.h"

namespace hekla::framework {

// FNV-1a.
std::uint64_t content_hash(const json::Value& value);
std::string hash_text(std::uint64_t hash);

// Kubernetes' pod-template-hash: 32 bits of FNV-1a over the template, in letters that make no
// words.
std::string template_hash(const json::Value& pod_template, std::optional<std::int64_t> collisions);

}  // namespace hekla::framework
