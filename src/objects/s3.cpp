// From a request to its operation: address, signature, rights, and the table of operations.
#include "objects/s3.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "objects/serving/call.h"
#include "objects/serving/operations.h"
#include "objects/wire/link_signature.h"

namespace hekla::objects {
namespace {

constexpr std::size_t kKeyBytes = 1024;
constexpr std::size_t kLargestBody = (std::size_t{5} << 30) + (std::size_t{512} << 20);

enum class Need : std::uint8_t { read, write, list, bucket, owner };

struct Operation {
  std::string_view method;
  bool object;             // of an object, else of a bucket
  std::string_view query;  // the parameter that makes it this one; empty: none
  Need need;
  void (*run)(const CallPtr&);
};

// The first that fits, so those with a parameter come first.
constexpr std::array kOperations = std::to_array<Operation>({
    {"PUT", true, "uploadId", Need::write, upload_part},
    {"POST", true, "uploadId", Need::write, complete_upload},
    {"POST", true, "uploads", Need::write, begin_upload},
    {"DELETE", true, "uploadId", Need::write, abort_upload},
    {"GET", true, "uploadId", Need::read, list_parts},
    {"GET", true, "tagging", Need::read, get_tags},
    {"PUT", true, "tagging", Need::write, put_tags},
    {"DELETE", true, "tagging", Need::write, delete_tags},
    {"GET", true, "acl", Need::read, object_acl},
    {"GET", true, "attributes", Need::read, object_attributes},
    {"GET", true, "", Need::read, read_object_content},
    {"HEAD", true, "", Need::read, read_object_content},
    {"PUT", true, "", Need::write, put_object},
    {"DELETE", true, "", Need::write, delete_object},
    {"GET", false, "uploads", Need::list, list_uploads},
    {"GET", false, "versions", Need::list, list_versions},
    {"GET", false, "list-type", Need::list, list_objects_v2},
    {"GET", false, "", Need::list, list_objects_v1},
    {"HEAD", false, "", Need::bucket, head_bucket},
    {"PUT", false, "", Need::owner, create_bucket},
    {"DELETE", false, "", Need::owner, delete_bucket},
    {"POST", false, "delete", Need::bucket, delete_objects},
});

constexpr std::array<std::string_view, 18> kBucketSettings = {
    "location",          "versioning",       "acl",         "policy",
    "policyStatus",      "lifecycle",        "cors",        "website",
    "tagging",           "encryption",       "object-lock", "replication",
    "notification",      "logging",          "accelerate",  "requestPayment",
    "ownershipControls", "publicAccessBlock"};
// Operations on objects that are not here are named, so that none of them is taken for another.
constexpr std::array<std::string_view, 6> kObjectNotHere = {"retention", "legal-hold", "restore",
                                                            "select",    "torrent",    "acl"};

std::string_view host_of(const net::Request& request) {
  std::string_view host = request.headers.get("host");
  if (const std::size_t colon = host.rfind(':');
      colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos)
    host = host.substr(0, colon);
  return host;
}

// BUCKET.HOST/KEY, or HOST/BUCKET/KEY.
void read_address(Call& call) {
  std::string path = call.request.path;
  const std::string_view host = host_of(call.request);
  for (const std::string& own : call.options->hosts)
    if (host.size() > own.size() + 1 && host.ends_with(own) &&
        host[host.size() - own.size() - 1] == '.') {
      call.bucket = host.substr(0, host.size() - own.size() - 1);
      call.key = path.substr(std::min<std::size_t>(1, path.size()));
      return;
    }
  if (path.starts_with('/')) path.erase(0, 1);
  const std::size_t slash = path.find('/');
  call.bucket = path.substr(0, slash);
  if (slash != std::string::npos) call.key = path.substr(slash + 1);
}

Outcome<void> authenticate_link(Call& call, const LinkSignature& link) {
  std::optional<Credential> who = call.options->credentials(link.access_key);
  if (!who) return refuse("InvalidAccessKeyId");
  const bool by_host = !call.bucket.empty() && call.request.path == "/" + call.key;
  TRY(verify_link(call.request, by_host ? call.bucket : "", link, who->secret,
                  call.store.clock().wall()));
  call.payload_hash = "UNSIGNED-PAYLOAD";
  call.who = std::move(*who);
  return {};
}

Outcome<void> authenticate(Call& call) {
  if (std::optional<LinkSignature> link = read_link_signature(call.request))
    return authenticate_link(call, *link);
  std::optional<Signature> signature = TRY(read_signature(call.request));
  if (!signature) return refuse("AccessDenied");
  std::optional<Credential> who = call.options->credentials(signature->access_key);
  if (!who) return refuse("InvalidAccessKeyId");
  call.signing = TRY(verify(call.request, *signature, who->secret, call.store.clock().wall()));
  call.payload_hash = signature->payload_hash;
  call.who = std::move(*who);
  return {};
}

bool allowed(const Call& call, Need need) {
  switch (need) {
    case Need::read:
      return may_read(call.who, call.bucket, call.key);
    case Need::write:
      return may_write(call.who, call.bucket, call.key);
    case Need::list:
      return may_list(call.who, call.bucket, call.request.query.get("prefix"));
    case Need::bucket:
      return sees_bucket(call.who, call.bucket);
    case Need::owner:
      return call.who.everything;
  }
  return false;
}

void run(const CallPtr& call, Need need, void (*operation)(const CallPtr&)) {
  if (!allowed(*call, need)) return call->fail(s3_error("AccessDenied"));
  operation(call);
}

void dispatch_object(const CallPtr& call) {
  if (call->key.size() > kKeyBytes) return call->fail(s3_error("KeyTooLongError"));
  if (call->key.contains('\0')) return call->fail(s3_error("InvalidArgument"));
  const net::Request& request = call->request;
  if (request.method == "PUT" && request.headers.has("x-amz-copy-source"))
    return run(call, Need::write, request.query.has("uploadId") ? upload_part_copy : copy_object);
  for (const Operation& operation : kOperations)
    if (operation.object && operation.method == request.method && !operation.query.empty() &&
        request.query.has(operation.query))
      return run(call, operation.need, operation.run);
  for (std::string_view name : kObjectNotHere)
    if (request.query.has(name))
      return call->fail(s3_error("NotImplemented", "The sub-resource " + std::string(name) +
                                                       " of objects is not in Hekla's object "
                                                       "store."));
  for (const Operation& operation : kOperations)
    if (operation.object && operation.method == request.method && operation.query.empty())
      return run(call, operation.need, operation.run);
  call->fail(s3_error("MethodNotAllowed"));
}

void dispatch_bucket(const CallPtr& call) {
  const net::Request& request = call->request;
  for (std::string_view name : kBucketSettings)
    if (request.query.has(name)) {
      const Need need = request.method == "GET" ? Need::bucket : Need::owner;
      if (!allowed(*call, need)) return call->fail(s3_error("AccessDenied"));
      return bucket_setting(call, name);
    }
  for (const Operation& operation : kOperations)
    if (!operation.object && operation.method == request.method &&
        (operation.query.empty() || request.query.has(operation.query)))
      return run(call, operation.need, operation.run);
  call->fail(s3_error("MethodNotAllowed"));
}

void dispatch(const CallPtr& call) {
  read_address(*call);
  if (Outcome<void> known = authenticate(*call); !known) return call->fail(known.error());
  if (call->bucket.empty()) {
    if (call->request.method != "GET") return call->fail(s3_error("MethodNotAllowed"));
    return list_buckets(call);
  }
  if (call->key.empty()) return dispatch_bucket(call);
  dispatch_object(call);
}

}  // namespace

net::Handler s3_handler(ObjectStore& store, S3Options options) {
  auto shared = std::make_shared<const S3Options>(std::move(options));
  return [&store, shared](net::Request request, std::shared_ptr<net::ResponseWriter> writer) {
    std::string id;
    append_le(id, store.rng().next());
    dispatch(std::make_shared<Call>(store, shared, std::move(request), std::move(writer),
                                    net::OwnThread::current(), hex_encode(id)));
  };
}

net::Router s3_router() {
  return [](const net::Request&) {
    return net::RouteRules{.stream_body = true,
                           .max_body_bytes = kLargestBody,
                           .body_timeout = std::chrono::milliseconds(0),
                           .stall_timeout = std::chrono::seconds(60)};
  };
}

}  // namespace hekla::objects
