// A conversation of the command line with an API server: blocking calls for one-shot work. Verbs
// that follow something use kube::Client instead.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "json/value.h"
#include "kube/rest_client.h"
#include "net/client.h"

namespace hekla::cli {

// The media type of a list as a table: the server says which columns there are.
inline constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

// An object read from a file, and where it stood, for error messages.
struct Manifest {
  json::Value object;
  std::string file;
  int line = 1;                             // of its document
  std::shared_ptr<const std::string> text;  // of the file; null: it was no file
  std::string within;                       // "items[2].": of a list

  // "job.yaml:12": where the field that the server's message names stands, or the object.
  std::string place_of(std::string_view message) const;
};

// YAML or JSON, several documents and List objects; "-" is standard input.
Result<std::vector<Manifest>> read_manifests(const std::vector<std::string>& files);

class ApiSession {
 public:
  static Result<std::unique_ptr<ApiSession>> open(const kube::ClusterAccess& access);

  const kube::ClusterAccess& access() const { return access_; }
  net::Client& http() { return *http_; }

  // The resource that serves an object's apiVersion and kind.
  Result<kube::Resource> resource_of(const json::Value& object);
  Result<json::Value> call(const std::string& method, const std::string& path,
                           const std::string& body = {},
                           const std::string& content_type = "application/json",
                           const std::string& accept = {});
  // A response body as it arrives, in pieces, until the server ends it.
  Result<void> stream(const std::string& path, const std::string& accept,
                      const std::function<void(std::string_view)>& piece);
  // /apis/batch.volcano.sh/v1alpha1/namespaces/ns/jobs[/name]
  static std::string path_of(const kube::Resource& resource, const std::string& ns,
                             const std::string& name = {});

 private:
  kube::ClusterAccess access_;
  std::unique_ptr<net::Client> http_;
};

}  // namespace hekla::cli
