// Buckets and their settings.
#include <algorithm>
#include <array>

#include "objects/serving/operations.h"
#include "objects/serving/payload.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

// Settings that no bucket has, with the error that says so.
constexpr std::array kMissing = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"policy", "NoSuchBucketPolicy"},
    {"policyStatus", "NoSuchBucketPolicy"},
    {"lifecycle", "NoSuchLifecycleConfiguration"},
    {"cors", "NoSuchCORSConfiguration"},
    {"website", "NoSuchWebsiteConfiguration"},
    {"tagging", "NoSuchTagSet"},
    {"encryption", "ServerSideEncryptionConfigurationNotFoundError"},
    {"object-lock", "ObjectLockConfigurationNotFoundError"},
    {"replication", "ReplicationConfigurationNotFoundError"},
    {"ownershipControls", "OwnershipControlsNotFoundError"},
    {"publicAccessBlock", "NoSuchPublicAccessBlockConfiguration"},
});

// Settings that are the same for every bucket, as the document's root without content.
constexpr std::array kEmpty = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"versioning", "VersioningConfiguration"},
    {"notification", "NotificationConfiguration"},
    {"logging", "BucketLoggingStatus"},
    {"accelerate", "AccelerateConfiguration"},
});

// Asks whether the bucket is there and goes on.
void with_bucket(const CallPtr& call, std::move_only_function<void()> next) {
  Call::ask<Nothing>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<Nothing>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        return Nothing{};
      },
      [next = std::move(next)](Nothing) mutable { next(); });
}

}  // namespace

void list_buckets(const CallPtr& call) {
  using Buckets = std::vector<BucketInfo>;
  Call::ask<Buckets>(
      call, [](Catalog& catalog) -> Result<Outcome<Buckets>> { return TRY(catalog.buckets()); },
      [call](const Buckets& buckets) {
        XmlWriter xml("ListAllMyBucketsResult");
        xml.open("Owner").text("ID", "hekla").text("DisplayName", "hekla").close();
        xml.open("Buckets");
        for (const BucketInfo& bucket : buckets)
          if (sees_bucket(call->who, bucket.name))
            xml.open("Bucket")
                .text("Name", bucket.name)
                .text("CreationDate", xml_time(bucket.created))
                .close();
        call->answer_xml(xml.finish());
      });
}

void create_bucket(const CallPtr& call) {
  if (!is_bucket_name(call->bucket)) return call->fail(s3_error("InvalidBucketName"));
  if (call->request.headers.get("x-amz-bucket-object-lock-enabled") == "true")
    return call->fail(s3_error("NotImplemented", "Object lock is not in Hekla's object store."));
  // The document may name a region; there is only this one.
  read_document(call, [call](const std::string&) {
    Call::ask<Nothing>(
        call,
        [call](Catalog& catalog) -> Result<Outcome<Nothing>> {
          if (!TRY(catalog.make_bucket(call->bucket, call->store.clock().wall())))
            return refuse("BucketAlreadyOwnedByYou");
          return Nothing{};
        },
        [call](Nothing) {
          net::Headers headers;
          headers.add("Location", "/" + call->bucket);
          call->answer(200, std::move(headers));
        });
  });
}

void head_bucket(const CallPtr& call) {
  with_bucket(call, [call] {
    net::Headers headers;
    headers.add("x-amz-bucket-region", call->options->region);
    call->answer(200, std::move(headers));
  });
}

void delete_bucket(const CallPtr& call) {
  Call::ask<Nothing>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<Nothing>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        if (!TRY(catalog.bucket_is_empty(call->bucket))) return refuse("BucketNotEmpty");
        TRY(catalog.remove_bucket(call->bucket));
        return Nothing{};
      },
      [call](Nothing) {
        call->store.sweep();
        call->answer(204);
      });
}

void bucket_setting(const CallPtr& call, std::string_view name) {
  if (call->request.method != "GET") {
    if (call->request.method == "DELETE") return with_bucket(call, [call] { call->answer(204); });
    return call->fail(s3_error("NotImplemented", "The setting " + std::string(name) +
                                                     " of buckets is not in Hekla's object "
                                                     "store."));
  }
  with_bucket(call, [call, name = std::string(name)] {
    if (name == "location") return call->answer_xml(XmlWriter("LocationConstraint").finish());
    if (name == "acl") return object_acl(call);
    if (name == "requestPayment")
      return call->answer_xml(
          XmlWriter("RequestPaymentConfiguration").text("Payer", "BucketOwner").finish());
    for (const auto& [setting, root] : kEmpty)
      if (setting == name) return call->answer_xml(XmlWriter(root).finish());
    for (const auto& [setting, code] : kMissing)
      if (setting == name) return call->fail(s3_error(code));
    call->fail(s3_error("NotImplemented"));
  });
}

}  // namespace hekla::objects
