// Packs files into a tar file that unpack_layer() can read: what a container has changed, as a
// layer; or files to be copied into an image. Blocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace hekla::agent {

// How files shall look in the archive, where not as they do on the disk.
struct PackedLook {
  std::optional<std::uint32_t> uid, gid;
  std::optional<unsigned> mode;  // of files; directories stay passable
  // Given the path below the tree's top; what it says true to is left out, with all below it.
  std::function<bool(const std::string&)> skip;
};

class LayerPacker {
 public:
  LayerPacker();
  ~LayerPacker();
  // Begins the file. `compressed`: with gzip.
  Result<void> open(const std::string& path, bool compressed);
  // Everything in the upper directory of an overlay; deletions become whiteouts.
  Result<void> add_upper(int directory);
  // A file, link or directory tree named `name` in `parent`, as `target` in the archive; of a
  // directory its content alone.
  Result<void> add(int parent, const std::string& name, const std::string& target,
                   const PackedLook& look);
  Result<void> add_directory(const std::string& target, const PackedLook& look);
  Result<void> add_text(const std::string& target, const std::string& content,
                        const PackedLook& look);
  bool is_empty() const;
  Result<void> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::agent
