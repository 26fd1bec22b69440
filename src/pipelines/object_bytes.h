// Bytes of artifacts by bucket and key: what pipelines need of an object store, whoever keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::pipelines {

// An object opened for reading; the descriptor belongs to whoever is given it.
struct OpenObject {
  int descriptor = -1;
  std::uint64_t bytes = 0;
};

// Thread-safe. Calls block: they are made on threads of the caller's own. Keys are any UTF-8 text
// of 1 to 1024 bytes.
class ObjectBytes {
 public:
  virtual ~ObjectBytes() = default;
  // A file to write into, on the disk that put() takes from. Whoever does not put it removes it.
  virtual Result<std::string> scratch_file() = 0;
  // Takes the file over as the object's new content. Durable when this returns.
  virtual Result<void> put(const std::string& bucket, const std::string& key,
                           const std::string& scratch_file) = 0;
  // not_found when there is none.
  virtual Result<OpenObject> open(const std::string& bucket, const std::string& key) = 0;
  // Keys that begin with the prefix, sorted, at most `limit`.
  virtual Result<std::vector<std::string>> list(const std::string& bucket,
                                                const std::string& prefix, std::size_t limit) = 0;
  // Removing what is not there is no error.
  virtual Result<void> remove(const std::string& bucket, const std::string& key) = 0;
};

}  // namespace hekla::pipelines
