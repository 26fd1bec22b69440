// Conversion between the versions of the kinds that have several: TFJob and MPIJob. v1 is what is
// stored and what controllers read, and every other version is translated from and to it; one file
// per kind in conversions/.
//
// Nothing of a spec is lost on the way. What one version says and another cannot is kept there as a
// merge patch in the annotation hekla.io/kept-<version that said it>, and taken from it on the way
// back. What is kept is dropped once somebody has written something that contradicts it. Users
// cannot write these annotations (steps/job_versions_mutate.cpp). A status says the same in every
// version.
#pragma once

#include <span>
#include <string_view>

#include "kube/conversion.h"

namespace hekla::admission {

inline constexpr std::string_view kHubVersion = "v1";
inline constexpr std::string_view kKeptPrefix = "hekla.io/kept-";
// In which version a job was created, when that was not v1 (steps/job_versions_mutate.cpp).
inline constexpr std::string_view kCreatedVersion = "hekla.io/api-version";

// Between one version and v1. Each drops what the other side cannot say; apiVersion is the caller's
// business.
struct Translation {
  std::string_view version;
  void (*to_hub)(json::Value& object);
  void (*from_hub)(json::Value& object);
};

void convert_by(std::span<const Translation> translations, json::Value& object,
                std::string_view version);

void convert_tf_job(json::Value& object, std::string_view version);
void convert_mpi_job(json::Value& object, std::string_view version);

// All of them, in the form the API server takes.
std::span<const kube::Conversion> conversions();

// The member `spec` or `status` to edit; null without one.
json::Object* part_of(json::Value& object, std::string_view member);
// Takes a member out; null without it.
json::Value take(json::Object& object, std::string_view member);
// Drops every member that is not named.
void retain(json::Object& object, std::initializer_list<std::string_view> members);
// Takes an annotation out, and the annotations with the last one; empty without it.
std::string take_annotation(json::Value& object, std::string_view name);

}  // namespace hekla::admission
