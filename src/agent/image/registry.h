// Speaks to image registries (the OCI distribution protocol). Blocks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/image/manifest.h"
#include "agent/image/reference.h"
#include "agent/image/registry_auth.h"
#include "base/result.h"

namespace hekla::agent {

struct RegistryOptions {
  std::vector<std::string> insecure;           // hosts spoken to in plain HTTP, beside loopback
  std::map<std::string, std::string> mirrors;  // registry -> URL that is asked first
};

// "--registry-mirror HOST=URL".
Result<std::map<std::string, std::string>> parse_mirrors(const std::vector<std::string>& entries);

struct FetchedManifest {
  std::string digest;
  std::string text;
};

// One pull: keeps the token and the place that answered. One owner.
class RegistrySession {
 public:
  RegistrySession(const RegistryOptions& options, ImageReference image,
                  std::optional<RegistryLogin> login);

  // By tag or digest. What is named by digest is checked against it.
  Result<FetchedManifest> manifest(const std::string& wanted);
  // Into the file `path`, checked against digest and size.
  Result<void> blob(const BlobDescriptor& blob, const std::string& path);

 private:
  struct Answer;
  using Sink = std::function<bool(std::string_view)>;
  struct Endpoint {
    std::string base;  // scheme://host[:port][/prefix]
    bool secure = true;
    bool own = true;  // the registry itself: it may see the login
  };

  Result<Answer> get(const std::string& path, bool manifests, const Sink& sink);
  Result<Answer> get_from(const Endpoint& endpoint, const std::string& path, bool manifests,
                          const Sink& sink);
  Result<Answer> perform(const Endpoint& endpoint, const std::string& url,
                         const std::vector<std::string>& headers, const Sink& sink);
  Result<std::string> authorize(const Endpoint& endpoint, const std::string& challenge);

  ImageReference image_;
  std::optional<RegistryLogin> login_;
  std::vector<Endpoint> endpoints_;                  // in the order they are asked
  std::map<std::string, std::string> authorization_;  // by endpoint: the header's value
};

// Whether a registry is spoken to in plain HTTP.
bool is_insecure(const RegistryOptions& options, const std::string& registry);

}  // namespace hekla::agent
