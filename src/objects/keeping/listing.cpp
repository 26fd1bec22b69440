#include "objects/keeping/listing.h"

namespace hekla::objects {
namespace {

constexpr int kBatch = 256;

}  // namespace

std::string behind_prefix(std::string prefix) {
  while (!prefix.empty()) {
    if (static_cast<unsigned char>(prefix.back()) != 0xff) {
      ++prefix.back();
      return prefix;
    }
    prefix.pop_back();
  }
  return prefix;
}

Result<Listing> list_objects(Catalog& catalog, const std::string& bucket,
                             const ListingOptions& options) {
  Listing page;
  if (options.most <= 0) return page;
  const std::size_t most = static_cast<std::size_t>(options.most);
  // The common prefix that a key is folded into; empty when it stands for itself.
  auto fold = [&](const std::string& key) -> std::string {
    if (options.delimiter.empty() || !key.starts_with(options.prefix)) return {};
    const std::size_t at = key.find(options.delimiter, options.prefix.size());
    return at == std::string::npos ? std::string() : key.substr(0, at + options.delimiter.size());
  };
  std::string from;
  if (!options.after.empty()) {
    // A page that ended with a common prefix goes on behind all of its keys.
    const std::string folded = fold(options.after);
    from = folded == options.after ? behind_prefix(folded) : options.after + '\0';
    if (from.empty()) return page;
  }
  while (true) {
    std::vector<ObjectInfo> batch = TRY(catalog.range(bucket, options.prefix, from, kBatch));
    if (batch.empty()) return page;
    for (ObjectInfo& object : batch) {
      if (page.objects.size() + page.prefixes.size() == most) {
        page.truncated = true;
        return page;
      }
      if (std::string prefix = fold(object.key); !prefix.empty()) {
        page.prefixes.push_back(prefix);
        page.last = prefix;
        from = behind_prefix(prefix);
        break;
      }
      page.last = object.key;
      from = object.key + '\0';
      page.objects.push_back(std::move(object));
    }
    if (from.empty()) return page;
  }
}

}  // namespace hekla::objects
