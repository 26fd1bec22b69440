#include "apiserver/kinds/attach_header.h"

#include <map>

#include "apiserver/kinds/builtin.h"
#include "apiserver/object/object_header.h"
#include "base/check.h"

namespace hekla::apiserver {

store::AttachmentPtr attach_header(std::string_view bucket, const std::string&,
                                   const std::string& value) {
  static const std::map<std::string, KindPtr, std::less<>> by_bucket = [] {
    std::map<std::string, KindPtr, std::less<>> kinds;
    for (const KindPtr& kind : builtin_kinds())
      if (kind->resource.api_version() == kind->storage.version)
        kinds.emplace(kind->storage.bucket, kind);
    return kinds;
  }();
  // Read in place: to build a tree of every object would take most of a start's time.
  Result<json::Document> object = json::Document::parse(value);
  CHECK(object.has_value(), "the store returned something other than the JSON it was given");
  auto kind = by_bucket.find(bucket);
  std::shared_ptr<ObjectHeader> header =
      make_header(kind == by_bucket.end() ? nullptr : kind->second.get(), object->root());
  std::size_t metadata = value.find("\"metadata\":");
  CHECK(metadata != std::string::npos, "a stored object begins with apiVersion, kind and metadata");
  header->body_at = static_cast<std::uint32_t>(metadata);
  return header;
}

}  // namespace hekla::apiserver
