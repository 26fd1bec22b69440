// Tags of an object.
#include "objects/serving/operations.h"
#include "objects/serving/payload.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

using Tags = std::map<std::string, std::string>;

Result<Outcome<Nothing>> set_tags(const Call& call, Catalog& catalog, Tags tags) {
  std::optional<ObjectInfo> object = TRY(catalog.find(call.bucket, call.key));
  if (!object) return refuse("NoSuchKey");
  object->metadata.tags = std::move(tags);
  TRY(catalog.set_metadata(call.bucket, call.key, object->metadata));
  return Nothing{};
}

}  // namespace

void get_tags(const CallPtr& call) {
  Call::ask<Tags>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<Tags>> {
        std::optional<ObjectInfo> object = TRY(catalog.find(call->bucket, call->key));
        if (!object) return refuse("NoSuchKey");
        return std::move(object->metadata.tags);
      },
      [call](const Tags& tags) {
        XmlWriter xml("Tagging");
        xml.open("TagSet");
        for (const auto& [name, value] : tags)
          xml.open("Tag").text("Key", name).text("Value", value).close();
        call->answer_xml(xml.finish());
      });
}

void put_tags(const CallPtr& call) {
  read_document(call, [call](const std::string& body) {
    Outcome<Tags> tags = read_tagging(body);
    if (!tags) return call->fail(tags.error());
    Call::ask<Nothing>(
        call,
        [call, tags = std::move(*tags)](Catalog& catalog) {
          return set_tags(*call, catalog, tags);
        },
        [call](Nothing) { call->answer(200); });
  });
}

void delete_tags(const CallPtr& call) {
  Call::ask<Nothing>(
      call, [call](Catalog& catalog) { return set_tags(*call, catalog, {}); },
      [call](Nothing) { call->answer(204); });
}

}  // namespace hekla::objects
