// The operations of S3, one function each. A function answers its call, now or later; who may call
// it has been checked by dispatch (s3.cpp).
#pragma once

#include "objects/serving/call.h"

namespace hekla::objects {

// buckets.cpp
void list_buckets(const CallPtr& call);
void create_bucket(const CallPtr& call);
void head_bucket(const CallPtr& call);
void delete_bucket(const CallPtr& call);
// A sub-resource of a bucket that is the same for all of them, or that none has.
void bucket_setting(const CallPtr& call, std::string_view name);

// listings.cpp
void list_objects_v1(const CallPtr& call);
void list_objects_v2(const CallPtr& call);
void list_versions(const CallPtr& call);
void list_uploads(const CallPtr& call);

// reads.cpp: GET and HEAD
void read_object_content(const CallPtr& call);
void object_attributes(const CallPtr& call);
void object_acl(const CallPtr& call);

// writes.cpp
void put_object(const CallPtr& call);
void copy_object(const CallPtr& call);
void delete_object(const CallPtr& call);
void delete_objects(const CallPtr& call);

// multipart.cpp
void begin_upload(const CallPtr& call);
void upload_part(const CallPtr& call);
void upload_part_copy(const CallPtr& call);
void complete_upload(const CallPtr& call);
void abort_upload(const CallPtr& call);
void list_parts(const CallPtr& call);

// tags.cpp
void get_tags(const CallPtr& call);
void put_tags(const CallPtr& call);
void delete_tags(const CallPtr& call);

// The metadata that the headers of a PUT name.
Outcome<Metadata> metadata_of(const net::Headers& headers);
// The object that x-amz-copy-source names; reading it has been allowed.
struct Source {
  std::string bucket, key;
};
Outcome<Source> copy_source(const Call& call);
// Keeps the spool's bytes: on the disk first, then known. `job` runs after them, in the same
// transaction, and is given the piece; what it refuses is not kept.
void keep_then(const CallPtr& call, std::shared_ptr<Spool> spool,
               std::move_only_function<Result<Outcome<ObjectInfo>>(Catalog&)> job,
               std::move_only_function<void(ObjectInfo)> next);
inline std::string quoted_etag(const std::string& etag) { return "\"" + etag + "\""; }

}  // namespace hekla::objects
