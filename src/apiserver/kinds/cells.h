// Printed cells: the small formats that many kinds share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/value.h"

namespace hekla::apiserver {

using Path = std::initializer_list<std::string_view>;

// Time since the RFC 3339 time at the path ("5m"); <unknown> when there is none.
std::string since(const json::Value& object, Path path, WallTime now);
// Since metadata.creationTimestamp.
std::string age(const json::Value& object, WallTime now);
// The string at the path, or `otherwise` when it is missing or empty.
std::string text_or(const json::Value& object, Path path, std::string_view otherwise);
// Elements of a list or map; 0 when missing.
std::int64_t count(const json::Value& object, Path path);
// "True", "False", or <unset>.
std::string true_false(const json::Value* value);
// An IntOrString or quantity as text.
std::string scalar_text(const json::Value& value);

// "a=1,b=2", or <none>.
std::string labels_text(const json::Value* labels);
// A LabelSelector as -l would spell it; <none> when missing or empty, <error> when malformed.
std::string selector_text(const json::Value* selector);
// Names and images of the containers, comma-joined.
std::string container_names(const json::Array* containers);
std::string container_images(const json::Array* containers);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Whether a condition of that type has status True.
bool has_condition(const json::Value& object, std::string_view type);

}  // namespace hekla::apiserver
