// Speaks to image registries (the OCI distribution protocol). Blocks.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/image/registry/http_transfer.h"
#include "agent/image/registry/manifest.h"
#include "agent/image/registry/reference.h"
#include "agent/image/registry/registry_auth.h"
#include "base/result.h"

namespace hekla::agent {

struct RegistryOptions {
  std::vector<std::string> insecure;               // hosts spoken to in plain HTTP, beside loopback
  std::map<std::string, std::string> mirrors;      // registry -> URL that is asked first
  std::map<std::string, std::string> authorities;  // registry -> file of its certificate authority
  // Before the first repetition of what a busy registry refused; doubled each time.
  std::chrono::milliseconds retry_delay{1000};
  // Once true, what is under way fails: nobody waits for it any more.
  const std::atomic<bool>* cancelled = nullptr;
  net::OwnRanges own_ranges;  // where nothing is fetched from
};

// "--registry-mirror HOST=URL".
Result<std::map<std::string, std::string>> parse_mirrors(const std::vector<std::string>& entries);
// "--registry-ca HOST=FILE".
Result<std::map<std::string, std::string>> parse_authorities(
    const std::vector<std::string>& entries);

struct FetchedManifest {
  std::string digest;
  std::string text;
};

// One pull or push: keeps the token and the place that answered. One owner. What a registry refuses
// for the moment (429, 500 and above) is asked again a few times.
class RegistrySession {
 public:
  RegistrySession(const RegistryOptions& options, ImageReference image,
                  std::optional<RegistryLogin> login);

  // By tag or digest. What is named by digest is checked against it.
  Result<FetchedManifest> manifest(const std::string& wanted);
  // Into the file `path`, checked against digest and size. What arrived of a transfer that broke
  // off stays in `path`.partial, and the next call, of this process or a later one, goes on there.
  Result<void> blob(const BlobDescriptor& blob, const std::string& path);

  // Whether the registry lets us in.
  Result<void> check_login();
  // Sends a blob unless it is there; `other_repository` of the same registry may have it.
  Result<void> push_blob(const BlobDescriptor& blob, const std::string& path,
                         const std::string& other_repository);
  Result<void> push_manifest(const std::string& text, const std::string& type);

 private:
  struct Endpoint {
    std::string base;  // scheme://host[:port][/prefix]
    bool secure = true;
    bool own = true;  // the registry itself: it may see the login
    std::string ca_file;
  };
  struct Download;

  HttpRequest request_to(const Endpoint& endpoint, std::string method, std::string url) const;
  std::string url_of(const Endpoint& endpoint, const std::string& path) const;
  // With authorization where it is asked for, and again while the registry is busy.
  Result<HttpReply> call(const Endpoint& endpoint, const HttpRequest& request);
  Result<HttpReply> call_with_retries(const HttpRequest& request) const;
  void pause_for(std::chrono::milliseconds time) const;
  Result<std::string> authorize(const Endpoint& endpoint, const HttpReply& refused);
  Result<std::string> fetch_token(const Endpoint& endpoint, AuthChallenge challenge);
  Result<FetchedManifest> manifest_from(const Endpoint& endpoint, const std::string& wanted);
  Result<long> fetch_piece(const Endpoint& endpoint, const BlobDescriptor& blob,
                           Download& download);
  Result<void> blob_from(const Endpoint& endpoint, const BlobDescriptor& blob,
                         const std::string& path);
  Result<void> upload(const Endpoint& endpoint, const std::string& location,
                      const BlobDescriptor& blob, const std::string& path);

  ImageReference image_;
  std::optional<RegistryLogin> login_;
  std::chrono::milliseconds retry_delay_;
  const std::atomic<bool>* cancelled_;
  net::OwnRanges own_ranges_;
  std::vector<Endpoint> endpoints_;                   // in the order they are asked
  std::map<std::string, std::string> authorization_;  // by endpoint: the header's value
};

// Whether a registry is spoken to in plain HTTP.
bool is_insecure(const RegistryOptions& options, const std::string& registry);

}  // namespace hekla::agent
