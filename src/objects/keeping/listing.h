// One page of a bucket's listing: keys under a prefix, those with a further delimiter folded into
// common prefixes.
#pragma once

#include <string>
#include <vector>

#include "objects/keeping/catalog.h"

namespace hekla::objects {

struct ListingOptions {
  std::string prefix, delimiter;
  std::string after;  // a key or a common prefix: the page begins behind it
  int most = 1000;
};

struct Listing {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> prefixes;
  bool truncated = false;
  std::string last;  // where the next page begins behind; empty when nothing was found
};

Result<Listing> list_objects(Catalog& catalog, const std::string& bucket,
                             const ListingOptions& options);

// The smallest string behind everything that begins with `prefix`; empty when there is none.
std::string behind_prefix(std::string prefix);

}  // namespace hekla::objects
