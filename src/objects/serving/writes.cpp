// Objects put, copied and deleted.
#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "net/text.h"
#include "objects/keeping/conditions.h"
#include "objects/serving/operations.h"
#include "objects/serving/payload.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

constexpr std::size_t kUserMetadataBytes = 8 * 1024;  // S3 allows two; MinIO, as here, more
constexpr std::array<std::string_view, 6> kKeptHeaders = {"content-type",        "cache-control",
                                                          "content-disposition", "content-encoding",
                                                          "content-language",    "expires"};

// aws-chunked is how the body came, not what it is.
std::string content_encoding(std::string_view value) {
  std::string kept;
  net::for_each_element(value, [&](std::string_view element) {
    if (element != "aws-chunked") kept += (kept.empty() ? "" : ",") + std::string(element);
  });
  return kept;
}

// Headers that promise more secrecy or publicity than there is are refused, not ignored.
Outcome<void> check_promises(const net::Headers& headers) {
  for (std::string_view name :
       {"x-amz-server-side-encryption", "x-amz-server-side-encryption-customer-algorithm",
        "x-amz-object-lock-mode", "x-amz-object-lock-legal-hold",
        "x-amz-website-redirect-location"})
    if (headers.has(name))
      return refuse("NotImplemented",
                    "The header " + std::string(name) + " is not in Hekla's object store.");
  const std::string_view acl = headers.get("x-amz-acl");
  if (!acl.empty() && acl != "private" && !acl.starts_with("bucket-owner-"))
    return refuse("NotImplemented", "Objects are private; the ACL " + std::string(acl) +
                                        " is not in Hekla's object store.");
  return {};
}

void answer_put(const CallPtr& call, const ObjectInfo& object) {
  net::Headers headers;
  headers.add("ETag", quoted_etag(object.etag));
  for (const auto& [name, value] : object.metadata.checksums) headers.add(name, value);
  call->answer(200, std::move(headers));
}

}  // namespace

Outcome<Metadata> metadata_of(const net::Headers& headers) {
  TRY(check_promises(headers));
  Metadata metadata;
  std::size_t user_bytes = 0;
  constexpr std::string_view prefix = "x-amz-meta-";
  for (const auto& [name, value] : headers.all()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), net::to_lower);
    if (lower.starts_with(prefix)) {
      std::string& stored = metadata.user[lower.substr(prefix.size())];
      stored += (stored.empty() ? "" : ",") + value;
      user_bytes += lower.size() + value.size();
    } else if (lower == "content-encoding") {
      if (std::string kept = content_encoding(value); !kept.empty()) metadata.headers[lower] = kept;
    } else if (std::ranges::find(kKeptHeaders, lower) != kKeptHeaders.end()) {
      metadata.headers[lower] = value;
    }
  }
  if (user_bytes > kUserMetadataBytes) return refuse("MetadataTooLarge");
  if (std::string_view tags = headers.get("x-amz-tagging"); !tags.empty())
    metadata.tags = TRY(read_tag_header(tags));
  return metadata;
}

void keep_then(const CallPtr& call, std::shared_ptr<Spool> spool,
               std::move_only_function<Result<Outcome<ObjectInfo>>(Catalog&)> job,
               std::move_only_function<void(ObjectInfo)> next) {
  auto commit = [call, spool, job = std::move(job), next = std::move(next)]() mutable {
    Call::ask<ObjectInfo>(call, std::move(job),
                          [call, next = std::move(next)](ObjectInfo object) mutable {
                            call->store.sweep();
                            next(std::move(object));
                          });
  };
  if (spool->bytes() <= kInlineBytes) return commit();
  Task task = [call, spool, commit = std::move(commit)]() mutable {
    if (Result<void> synced = spool->sync(); !synced)
      return call->fail(from_internal(synced.error()));
    commit();
  };
  if (!call->store.in_background(task)) call->fail(s3_error("ServiceUnavailable"));
}

void put_object(const CallPtr& call) {
  Outcome<Metadata> metadata = metadata_of(call->request.headers);
  if (!metadata) return call->fail(metadata.error());
  read_object(call, [call, metadata = std::move(*metadata)](std::shared_ptr<Spool> spool) mutable {
    metadata.checksums = body_checksums(*call, *spool);
    ObjectInfo object{.key = call->key,
                      .etag = hex_encode(spool->md5()),
                      .bytes = spool->bytes(),
                      .modified = call->store.clock().wall(),
                      .metadata = std::move(metadata),
                      .pieces = {spool->piece()}};
    auto job = [call, spool,
                object = std::move(object)](Catalog& catalog) -> Result<Outcome<ObjectInfo>> {
      if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
      if (call->request.headers.has("if-match") || call->request.headers.has("if-none-match")) {
        std::optional<ObjectInfo> before = TRY(catalog.find(call->bucket, call->key));
        if (Outcome<void> holds = check_write(call->request.headers, before ? &*before : nullptr);
            !holds)
          return Refusal{holds.error()};
      }
      TRY(catalog.keep(*spool));
      TRY(catalog.put(call->bucket, object));
      return object;
    };
    keep_then(call, spool, std::move(job),
              [call](const ObjectInfo& stored) { answer_put(call, stored); });
  });
}

Outcome<Source> copy_source(const Call& call) {
  std::string text = net::url_decode(call.request.headers.get("x-amz-copy-source"));
  if (text.starts_with('/')) text.erase(0, 1);
  if (const std::size_t query = text.find("?versionId="); query != std::string::npos)
    text.erase(query);
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text.size())
    return refuse("InvalidArgument", "x-amz-copy-source must be BUCKET/KEY.");
  Source source{text.substr(0, slash), text.substr(slash + 1)};
  if (!may_read(call.who, source.bucket, source.key)) return refuse("AccessDenied");
  return source;
}

void copy_object(const CallPtr& call) {
  Outcome<Source> source = copy_source(*call);
  if (!source) return call->fail(source.error());
  Outcome<Metadata> metadata = metadata_of(call->request.headers);
  if (!metadata) return call->fail(metadata.error());
  const net::Headers& headers = call->request.headers;
  const bool replace = headers.get("x-amz-metadata-directive") == "REPLACE";
  const bool new_tags = headers.get("x-amz-tagging-directive") == "REPLACE";
  if (source->bucket == call->bucket && source->key == call->key && !replace && !new_tags)
    return call->fail(s3_error("InvalidRequest",
                               "This copy request is illegal because it is trying to copy an "
                               "object to itself without changing the object's metadata."));
  Call::ask<ObjectInfo>(
      call,
      [call, source = std::move(*source), metadata = std::move(*metadata), replace,
       new_tags](Catalog& catalog) -> Result<Outcome<ObjectInfo>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        std::optional<ObjectInfo> object = TRY(catalog.find(source.bucket, source.key));
        if (!object)
          return TRY(catalog.has_bucket(source.bucket)) ? refuse("NoSuchKey")
                                                        : refuse("NoSuchBucket");
        if (Outcome<void> holds = check_read(call->request.headers, *object, "x-amz-copy-source-");
            !holds)
          return Refusal{holds.error()};
        object->key = call->key;
        object->modified = call->store.clock().wall();
        if (replace) {
          object->metadata.headers = metadata.headers;
          object->metadata.user = metadata.user;
        }
        if (new_tags) object->metadata.tags = metadata.tags;
        for (const Piece& piece : object->pieces) TRY(catalog.share(piece));
        TRY(catalog.put(call->bucket, *object));
        return std::move(*object);
      },
      [call](const ObjectInfo& object) {
        call->store.sweep();
        call->answer_xml(XmlWriter("CopyObjectResult")
                             .text("LastModified", xml_time(object.modified))
                             .text("ETag", quoted_etag(object.etag))
                             .finish());
      });
}

void delete_object(const CallPtr& call) {
  Call::ask<Nothing>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<Nothing>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        if (call->request.headers.has("if-match")) {
          std::optional<ObjectInfo> before = TRY(catalog.find(call->bucket, call->key));
          if (Outcome<void> holds = check_write(call->request.headers, before ? &*before : nullptr);
              !holds)
            return Refusal{holds.error()};
        }
        TRY(catalog.remove(call->bucket, call->key));
        return Nothing{};
      },
      [call](Nothing) {
        call->store.sweep();
        call->answer(204);
      });
}

void delete_objects(const CallPtr& call) {
  read_document(call, [call](const std::string& body) {
    Outcome<Deletion> deletion = read_deletion(body);
    if (!deletion) return call->fail(deletion.error());
    struct Done {
      std::vector<std::string> deleted, denied;
    };
    const bool quiet = deletion->quiet;
    Call::ask<Done>(
        call,
        [call, keys = std::move(deletion->keys)](Catalog& catalog) -> Result<Outcome<Done>> {
          if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
          Done done;
          for (const std::string& key : keys) {
            if (!may_write(call->who, call->bucket, key)) {
              done.denied.push_back(key);
              continue;
            }
            TRY(catalog.remove(call->bucket, key));
            done.deleted.push_back(key);
          }
          return done;
        },
        [call, quiet](const Done& done) {
          call->store.sweep();
          XmlWriter xml("DeleteResult");
          if (!quiet)
            for (const std::string& key : done.deleted)
              xml.open("Deleted").text("Key", key).close();
          for (const std::string& key : done.denied)
            xml.open("Error")
                .text("Key", key)
                .text("Code", "AccessDenied")
                .text("Message", "Access Denied.")
                .close();
          call->answer_xml(xml.finish());
        });
  });
}

}  // namespace hekla::objects
