// Serves the OpenAPI documents. They are made on demand and not kept, except for the v2 protobuf
// that old kubectl asks for with every command; what is kept is their hashes, which the v3 index
// shows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/object/registry.h"
#include "net/http.h"

namespace hekla::apiserver {

// Thread-safe.
class PublishedSchema {
 public:
  explicit PublishedSchema(const Registry& registry) : registry_(registry) {}
  // Answers below /openapi; nullopt for any other path and for group versions that are not served.
  std::optional<net::Response> handle(const net::Request& request) const;

 private:
  // The kinds of one group version and the hash of the document they make.
  struct Entry {
    std::string group, version;
    std::vector<KindPtr> kinds;
    std::string hash;
  };
  std::map<std::string, Entry> entries() const;  // by path, hashes filled in
  std::optional<net::Response> v3(const net::Request& request, const std::string& path) const;
  net::Response v2(const net::Request& request) const;

  const Registry& registry_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Entry> known_;
  mutable std::uint64_t known_generation_ = 0;
  mutable std::uint64_t v2_generation_ = 0;
  mutable std::shared_ptr<const std::string> v2_protobuf_;
};

}  // namespace hekla::apiserver
