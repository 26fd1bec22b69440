#include "objects/wire/s3_error.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace hekla::objects {
namespace {

struct Known {
  std::string_view code;
  int status;
  std::string_view message;
};

constexpr std::array kKnown = std::to_array<Known>({
    {"AccessDenied", 403, "Access Denied."},
    {"AuthorizationHeaderMalformed", 400, "The authorization header is malformed."},
    {"AuthorizationQueryParametersError", 400, "The query does not carry a whole signature."},
    {"BadDigest", 400, "The digest or checksum you sent is not that of the data received."},
    {"BucketAlreadyOwnedByYou", 409, "You have made this bucket already."},
    {"BucketNotEmpty", 409, "The bucket is not empty."},
    {"EntityTooLarge", 400, "The object is larger than an upload may be."},
    {"EntityTooSmall", 400, "A part other than the last is smaller than 5 MiB."},
    {"IncompleteBody", 400, "The body ended before the number of bytes that was announced."},
    {"InternalError", 500, "The object store could not carry this out; try again."},
    {"InvalidAccessKeyId", 403, "There is no access key of this name."},
    {"InvalidArgument", 400, "An argument of the request is not valid."},
    {"InvalidBucketName", 400, "The bucket's name is not valid."},
    {"InvalidDigest", 400, "The Content-MD5 or checksum is not a valid one."},
    {"InvalidPart", 400, "A part is missing, or its ETag is not the one given."},
    {"InvalidPartOrder", 400, "The parts are not in ascending order."},
    {"InvalidRange", 416, "The range cannot be satisfied."},
    {"InvalidRequest", 400, "The request is not valid."},
    {"InvalidTag", 400, "A tag is not valid."},
    {"KeyTooLongError", 400, "The key is longer than 1024 bytes."},
    {"MalformedXML", 400, "The XML is not well formed, or not of this operation's form."},
    {"MetadataTooLarge", 400, "The object's metadata are larger than allowed."},
    {"MethodNotAllowed", 405, "The method is not allowed on this resource."},
    {"NoSuchBucket", 404, "The bucket does not exist."},
    {"NoSuchBucketPolicy", 404, "The bucket has no policy."},
    {"NoSuchCORSConfiguration", 404, "The bucket has no CORS configuration."},
    {"NoSuchKey", 404, "The key does not exist."},
    {"NoSuchLifecycleConfiguration", 404, "The bucket has no lifecycle configuration."},
    {"NoSuchTagSet", 404, "There are no tags."},
    {"NoSuchUpload", 404, "The upload does not exist; it may have been completed or aborted."},
    {"NoSuchVersion", 404, "The version does not exist."},
    {"NoSuchWebsiteConfiguration", 404, "The bucket has no website configuration."},
    {"NotImplemented", 501, "This is not in Hekla's object store."},
    {"NotModified", 304, ""},
    {"ObjectLockConfigurationNotFoundError", 404, "The bucket has no object lock."},
    {"OwnershipControlsNotFoundError", 404, "The bucket has no ownership controls."},
    {"NoSuchPublicAccessBlockConfiguration", 404, "The bucket has no public access block."},
    {"PreconditionFailed", 412, "A condition of the request does not hold."},
    {"ReplicationConfigurationNotFoundError", 404, "The bucket has no replication."},
    {"RequestTimeTooSkewed", 403, "The request's time and the server's differ too much."},
    {"ServerSideEncryptionConfigurationNotFoundError", 404, "The bucket has no encryption."},
    {"ServiceUnavailable", 503, "The object store cannot write at the moment; try again."},
    {"SignatureDoesNotMatch", 403,
     "The signature does not match the one computed here. Check the secret key."},
    {"XAmzContentSHA256Mismatch", 400, "x-amz-content-sha256 is not that of the data received."},
});

}  // namespace

S3Error s3_error(std::string_view code) {
  auto known = std::ranges::find(kKnown, code, &Known::code);
  CHECK(known != kKnown.end(), code);
  return {known->status, std::string(known->code), std::string(known->message)};
}

S3Error s3_error(std::string_view code, std::string message) {
  S3Error error = s3_error(code);
  error.message = std::move(message);
  return error;
}

S3Error from_internal(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::too_many_requests
             ? s3_error("ServiceUnavailable")
             : s3_error("InternalError");
}

}  // namespace hekla::objects
