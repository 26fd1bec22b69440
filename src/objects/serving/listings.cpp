// Listings of a bucket: versions one and two, versions (there is one of each object), uploads.
#include <charconv>

#include "base/bytes.h"
#include "objects/keeping/listing.h"
#include "objects/serving/operations.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

constexpr int kMostKeys = 1000;

struct Asked {
  ListingOptions options;
  bool url_encoded = false;
  // A key as it stands in the document.
  std::string shown(const std::string& key) const {
    if (!url_encoded) return key;
    std::string out;
    for (std::size_t from = 0; from <= key.size();) {
      const std::size_t slash = std::min(key.find('/', from), key.size());
      out += net::url_encode(std::string_view(key).substr(from, slash - from));
      if (slash < key.size()) out += '/';
      from = slash + 1;
    }
    return out;
  }
};

Outcome<Asked> read_options(const Call& call) {
  const net::Query& query = call.request.query;
  Asked asked;
  asked.options.prefix = query.get("prefix");
  asked.options.delimiter = query.get("delimiter");
  asked.url_encoded = query.get("encoding-type") == "url";
  if (std::string_view text = query.get("max-keys"); !text.empty()) {
    int most = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), most);
    if (error != std::errc() || end != text.data() + text.size() || most < 0)
      return refuse("InvalidArgument", "max-keys must be a number that is not negative.");
    asked.options.most = std::min(most, kMostKeys);
  }
  return asked;
}

void list(const CallPtr& call, Asked asked,
          std::move_only_function<void(const Asked&, const Listing&)> show) {
  Call::ask<Listing>(
      call,
      [call, options = asked.options](Catalog& catalog) -> Result<Outcome<Listing>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        return TRY(list_objects(catalog, call->bucket, options));
      },
      [asked, show = std::move(show)](const Listing& page) mutable { show(asked, page); });
}

void open_page(XmlWriter& xml, const Call& call, const Asked& asked, const Listing& page) {
  xml.text("Name", call.bucket).text("Prefix", asked.shown(asked.options.prefix));
  if (!asked.options.delimiter.empty()) xml.text("Delimiter", asked.shown(asked.options.delimiter));
  xml.text("MaxKeys", std::to_string(asked.options.most));
  if (asked.url_encoded) xml.text("EncodingType", "url");
  xml.text("IsTruncated", page.truncated ? "true" : "false");
}

void add_entry(XmlWriter& xml, const Asked& asked, const ObjectInfo& object, bool owner) {
  xml.text("Key", asked.shown(object.key));
  xml.text("LastModified", xml_time(object.modified));
  xml.text("ETag", quoted_etag(object.etag));
  xml.text("Size", std::to_string(object.bytes));
  if (owner) xml.open("Owner").text("ID", "hekla").text("DisplayName", "hekla").close();
  xml.text("StorageClass", "STANDARD");
}

void add_prefixes(XmlWriter& xml, const Asked& asked, const Listing& page) {
  for (const std::string& prefix : page.prefixes)
    xml.open("CommonPrefixes").text("Prefix", asked.shown(prefix)).close();
}

}  // namespace

void list_objects_v1(const CallPtr& call) {
  Outcome<Asked> asked = read_options(*call);
  if (!asked) return call->fail(asked.error());
  asked->options.after = call->request.query.get("marker");
  list(call, std::move(*asked), [call](const Asked& asked, const Listing& page) {
    XmlWriter xml("ListBucketResult");
    open_page(xml, *call, asked, page);
    xml.text("Marker", asked.shown(asked.options.after));
    if (page.truncated) xml.text("NextMarker", asked.shown(page.last));
    for (const ObjectInfo& object : page.objects) {
      xml.open("Contents");
      add_entry(xml, asked, object, true);
      xml.close();
    }
    add_prefixes(xml, asked, page);
    call->answer_xml(xml.finish());
  });
}

void list_objects_v2(const CallPtr& call) {
  Outcome<Asked> asked = read_options(*call);
  if (!asked) return call->fail(asked.error());
  const net::Query& query = call->request.query;
  const std::string token(query.get("continuation-token")), start(query.get("start-after"));
  asked->options.after = start;
  if (!token.empty()) {
    std::optional<std::string> after = base64url_decode(token);
    if (!after)
      return call->fail(s3_error("InvalidArgument", "The continuation token is incorrect."));
    asked->options.after = *after;
  }
  const bool owner = query.get("fetch-owner") == "true";
  list(call, std::move(*asked),
       [call, token, start, owner](const Asked& asked, const Listing& page) {
         XmlWriter xml("ListBucketResult");
         open_page(xml, *call, asked, page);
         xml.text("KeyCount", std::to_string(page.objects.size() + page.prefixes.size()));
         if (!token.empty()) xml.text("ContinuationToken", token);
         if (!start.empty()) xml.text("StartAfter", asked.shown(start));
         if (page.truncated) xml.text("NextContinuationToken", base64url_encode(page.last));
         for (const ObjectInfo& object : page.objects) {
           xml.open("Contents");
           add_entry(xml, asked, object, owner);
           xml.close();
         }
         add_prefixes(xml, asked, page);
         call->answer_xml(xml.finish());
       });
}

void list_versions(const CallPtr& call) {
  Outcome<Asked> asked = read_options(*call);
  if (!asked) return call->fail(asked.error());
  asked->options.after = call->request.query.get("key-marker");
  list(call, std::move(*asked), [call](const Asked& asked, const Listing& page) {
    XmlWriter xml("ListVersionsResult");
    open_page(xml, *call, asked, page);
    xml.text("KeyMarker", asked.shown(asked.options.after));
    if (page.truncated)
      xml.text("NextKeyMarker", asked.shown(page.last)).text("NextVersionIdMarker", "null");
    for (const ObjectInfo& object : page.objects) {
      xml.open("Version").text("VersionId", "null").text("IsLatest", "true");
      add_entry(xml, asked, object, true);
      xml.close();
    }
    add_prefixes(xml, asked, page);
    call->answer_xml(xml.finish());
  });
}

void list_uploads(const CallPtr& call) {
  using Uploads = std::vector<UploadInfo>;
  Outcome<Asked> asked = read_options(*call);
  if (!asked) return call->fail(asked.error());
  Call::ask<Uploads>(
      call,
      [call, prefix = asked->options.prefix](Catalog& catalog) -> Result<Outcome<Uploads>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        return TRY(catalog.uploads(call->bucket, prefix));
      },
      [call, asked = std::move(*asked)](const Uploads& uploads) {
        XmlWriter xml("ListMultipartUploadsResult");
        xml.text("Bucket", call->bucket).text("Prefix", asked.shown(asked.options.prefix));
        xml.text("KeyMarker", "").text("UploadIdMarker", "");
        xml.text("MaxUploads", std::to_string(uploads.size())).text("IsTruncated", "false");
        if (asked.url_encoded) xml.text("EncodingType", "url");
        for (const UploadInfo& upload : uploads)
          xml.open("Upload")
              .text("Key", asked.shown(upload.key))
              .text("UploadId", upload.id)
              .text("StorageClass", "STANDARD")
              .text("Initiated", xml_time(upload.started))
              .close();
        call->answer_xml(xml.finish());
      });
}

}  // namespace hekla::objects
