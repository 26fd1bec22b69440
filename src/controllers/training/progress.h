// What a job has behind it and its pods no longer tell: replicas that have succeeded (their pods
// may be deleted since, and are not made again) and how often members were made again. Kept on the
// job in an annotation, so that a restart of the controllers forgets nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "framework/any_object.h"

namespace hekla::controllers::training {

inline const std::string kProgressAnnotation = "hekla.io/progress";

struct Progress {
  std::int64_t restarts = 0;
  // Failed pods that `restarts` counts and that still exist, by uid.
  std::set<std::string> counted;
  // Indices by role ("Worker").
  std::map<std::string, std::set<std::int32_t>> completed;

  bool operator==(const Progress&) const = default;
};

// Empty when there is none, or when somebody has spoiled it.
Progress read_progress(const framework::AnyObject& job);
// Empty for one that says nothing.
std::string to_text(const Progress& progress);

}  // namespace hekla::controllers::training
