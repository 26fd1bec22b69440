// Names of images as people write them: [registry/]repository[:tag][@digest]. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::agent {

struct ImageReference {
  std::string registry;    // host[:port]; docker.io when none is named
  std::string repository;  // with library/ for Docker Hub's own
  std::string tag;         // "latest" when neither tag nor digest is given
  std::string digest;      // sha256:<64 hex digits>, or empty

  std::string repository_name() const { return registry + "/" + repository; }
  // The full name: docker.io/library/busybox:latest.
  std::string canonical() const;
  // The name that a registry is asked for; the digest wins.
  const std::string& wanted() const { return digest.empty() ? tag : digest; }
};

// Fails with "invalid reference format" and its kin.
Result<ImageReference> parse_reference(std::string_view text);

bool is_sha256_digest(std::string_view text);

// The kubelet's default: Always for the tag latest, otherwise IfNotPresent.
std::string pull_policy(const std::string& declared, const ImageReference& image);

// Whether a pattern of names means this one; `*` stands for any characters, also none.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace hekla::agent
