// Uploads in parts. A completed upload is an object of several pieces: nothing is copied.
#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/digest.h"
#include "objects/keeping/conditions.h"
#include "objects/serving/operations.h"
#include "objects/serving/payload.h"
#include "objects/wire/checksum.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

constexpr int kMostParts = 10'000;
constexpr std::uint64_t kSmallestPart = 5 << 20;
constexpr std::uint64_t kLargestObject = std::uint64_t{5} << 40;

std::string upload_id(const Call& call) { return std::string(call.request.query.get("uploadId")); }

Outcome<int> part_number(const Call& call) {
  const std::string_view text = call.request.query.get("partNumber");
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > kMostParts)
    return refuse("InvalidArgument", "Part number must be an integer between 1 and 10000.");
  return number;
}

Result<Outcome<Nothing>> add_part(const Call& call, Catalog& catalog, const PartInfo& part) {
  if (!TRY(catalog.upload(call.bucket, call.key, upload_id(call)))) return refuse("NoSuchUpload");
  TRY(catalog.put_part(upload_id(call), part));
  return Nothing{};
}

// The ETag of an object in parts: MD5 of the parts' MD5s, and their number.
std::string etag_of(const std::vector<PartInfo>& parts) {
  Digest md5(Digest::Algorithm::md5);
  for (const PartInfo& part : parts) {
    std::string raw;
    for (std::size_t i = 0; i + 1 < part.etag.size(); i += 2) {
      unsigned byte = 0;
      std::from_chars(part.etag.data() + i, part.etag.data() + i + 2, byte, 16);
      raw += static_cast<char>(byte);
    }
    md5.add(raw);
  }
  return md5.finish_hex() + "-" + std::to_string(parts.size());
}

// A checksum of the parts' checksums, where all of them have one of the kind that was asked for.
std::map<std::string, std::string> checksum_of(const std::vector<PartInfo>& parts,
                                               const std::string& algorithm) {
  const std::optional<ChecksumKind> kind = checksum_kind(algorithm);
  if (!kind || *kind == ChecksumKind::crc64nvme) return {};
  const std::string header(checksum_header(*kind));
  Checksum whole(*kind);
  for (const PartInfo& part : parts) {
    auto found = part.checksums.find(header);
    if (found == part.checksums.end()) return {};
    whole.add(base64_decode(found->second).value_or(""));
  }
  return {{header, whole.finish() + "-" + std::to_string(parts.size())}};
}

// The parts that the client names, in its order, as they were uploaded.
Outcome<std::vector<PartInfo>> choose(const std::vector<PartInfo>& uploaded,
                                      const std::vector<CompletedPart>& named) {
  std::vector<PartInfo> chosen;
  std::uint64_t bytes = 0;
  for (const CompletedPart& want : named) {
    if (!chosen.empty() && want.number <= chosen.back().number) return refuse("InvalidPartOrder");
    auto found = std::ranges::find(uploaded, want.number, &PartInfo::number);
    if (found == uploaded.end() || found->etag != want.etag) return refuse("InvalidPart");
    for (const auto& [header, value] : want.checksums)
      if (auto has = found->checksums.find(header);
          has != found->checksums.end() && has->second != value)
        return refuse("InvalidPart");
    chosen.push_back(*found);
    bytes += found->piece.bytes;
  }
  for (std::size_t i = 0; i + 1 < chosen.size(); ++i)
    if (chosen[i].piece.bytes < kSmallestPart) return refuse("EntityTooSmall");
  if (bytes > kLargestObject) return refuse("EntityTooLarge");
  return chosen;
}

Result<Outcome<ObjectInfo>> complete(const Call& call, Catalog& catalog,
                                     const std::vector<CompletedPart>& named) {
  const std::string id = upload_id(call);
  std::optional<UploadInfo> upload = TRY(catalog.upload(call.bucket, call.key, id));
  if (!upload) return refuse("NoSuchUpload");
  std::optional<ObjectInfo> before = TRY(catalog.find(call.bucket, call.key));
  if (Outcome<void> holds = check_write(call.request.headers, before ? &*before : nullptr); !holds)
    return Refusal{holds.error()};
  Outcome<std::vector<PartInfo>> parts = choose(TRY(catalog.parts(id)), named);
  if (!parts) return Refusal{parts.error()};
  ObjectInfo object{.key = call.key,
                    .etag = etag_of(*parts),
                    .modified = call.store.clock().wall(),
                    .metadata = upload->metadata};
  object.metadata.checksums = checksum_of(*parts, upload->checksum);
  std::vector<int> kept;
  for (const PartInfo& part : *parts) {
    object.pieces.push_back(part.piece);
    object.bytes += part.piece.bytes;
    kept.push_back(part.number);
  }
  TRY(catalog.put(call.bucket, object));
  TRY(catalog.end_upload(id, kept));
  return object;
}

}  // namespace

void begin_upload(const CallPtr& call) {
  Outcome<Metadata> metadata = metadata_of(call->request.headers);
  if (!metadata) return call->fail(metadata.error());
  const std::string algorithm(call->request.headers.get("x-amz-checksum-algorithm"));
  if (!algorithm.empty() && !checksum_kind(algorithm))
    return call->fail(s3_error("InvalidRequest", "The checksum algorithm is not known."));
  UploadInfo upload{.id = uuid(call->store.rng()),
                    .key = call->key,
                    .started = call->store.clock().wall(),
                    .metadata = std::move(*metadata),
                    .checksum = algorithm};
  const std::string id = upload.id;
  Call::ask<Nothing>(
      call,
      [call, upload = std::move(upload)](Catalog& catalog) -> Result<Outcome<Nothing>> {
        if (!TRY(catalog.has_bucket(call->bucket))) return refuse("NoSuchBucket");
        TRY(catalog.begin_upload(call->bucket, upload));
        return Nothing{};
      },
      [call, id, algorithm](Nothing) {
        net::Headers headers;
        if (!algorithm.empty()) headers.add("x-amz-checksum-algorithm", algorithm);
        call->answer_xml(XmlWriter("InitiateMultipartUploadResult")
                             .text("Bucket", call->bucket)
                             .text("Key", call->key)
                             .text("UploadId", id)
                             .finish(),
                         std::move(headers));
      });
}

void upload_part(const CallPtr& call) {
  Outcome<int> number = part_number(*call);
  if (!number) return call->fail(number.error());
  read_object(call, [call, number = *number](std::shared_ptr<Spool> spool) {
    PartInfo part{.number = number,
                  .etag = hex_encode(spool->md5()),
                  .modified = call->store.clock().wall(),
                  .piece = spool->piece(),
                  .checksums = body_checksums(*call, *spool)};
    net::Headers headers;
    headers.add("ETag", quoted_etag(part.etag));
    for (const auto& [name, value] : part.checksums) headers.add(name, value);
    auto job = [call, spool, part](Catalog& catalog) -> Result<Outcome<ObjectInfo>> {
      Outcome<Nothing> added = TRY(add_part(*call, catalog, part));
      if (!added) return Refusal{added.error()};
      TRY(catalog.keep(*spool));
      return ObjectInfo{};
    };
    keep_then(call, spool, std::move(job),
              [call, headers](const ObjectInfo&) { call->answer(200, headers); });
  });
}

// A whole object becomes a part by reference; a range of one is read and kept anew.
void upload_part_copy(const CallPtr& call) {
  Outcome<int> number = part_number(*call);
  if (!number) return call->fail(number.error());
  Outcome<Source> source = copy_source(*call);
  if (!source) return call->fail(source.error());
  auto job = [call, number = *number,
              source = std::move(*source)](Catalog& catalog) -> Result<Outcome<ObjectInfo>> {
    std::optional<ObjectInfo> object = TRY(catalog.find(source.bucket, source.key));
    if (!object) return refuse("NoSuchKey");
    if (Outcome<void> holds = check_read(call->request.headers, *object, "x-amz-copy-source-");
        !holds)
      return Refusal{holds.error()};
    Outcome<std::optional<ByteRange>> range =
        read_range(call->request.headers.get("x-amz-copy-source-range"), object->bytes);
    if (!range) return Refusal{range.error()};
    const ByteRange bytes = range->value_or(ByteRange{0, object->bytes});
    std::unique_ptr<Spool> spool = call->store.content().spool();
    std::uint64_t begin = 0;
    for (const Piece& piece : object->pieces) {
      const std::uint64_t from = std::max(begin, bytes.first);
      const std::uint64_t to = std::min(begin + piece.bytes, bytes.first + bytes.bytes);
      std::shared_ptr<const Held> held = TRY(catalog.hold(piece));
      for (std::uint64_t at = from; at < to;) {
        std::string block;
        const std::size_t size = std::min<std::uint64_t>(to - at, 1 << 20);
        TRY(held->read(at - begin, size, block));
        TRY(spool->add(block));
        at += size;
      }
      begin += piece.bytes;
    }
    spool->finish();
    TRY(spool->sync());
    PartInfo part{.number = number,
                  .etag = hex_encode(spool->md5()),
                  .modified = call->store.clock().wall(),
                  .piece = spool->piece()};
    Outcome<Nothing> added = TRY(add_part(*call, catalog, part));
    if (!added) return Refusal{added.error()};
    TRY(catalog.keep(*spool));
    return ObjectInfo{.etag = part.etag, .modified = part.modified};
  };
  Call::ask<ObjectInfo>(call, std::move(job), [call](const ObjectInfo& part) {
    call->answer_xml(XmlWriter("CopyPartResult")
                         .text("LastModified", xml_time(part.modified))
                         .text("ETag", quoted_etag(part.etag))
                         .finish());
  });
}

void complete_upload(const CallPtr& call) {
  read_document(call, [call](const std::string& body) {
    Outcome<std::vector<CompletedPart>> parts = read_completion(body);
    if (!parts) return call->fail(parts.error());
    Call::ask<ObjectInfo>(
        call,
        [call, parts = std::move(*parts)](Catalog& catalog) {
          return complete(*call, catalog, parts);
        },
        [call](const ObjectInfo& object) {
          call->store.sweep();
          XmlWriter xml("CompleteMultipartUploadResult");
          xml.text("Location", "/" + call->bucket + "/" + call->key)
              .text("Bucket", call->bucket)
              .text("Key", call->key)
              .text("ETag", quoted_etag(object.etag));
          for (const auto& [name, value] : object.metadata.checksums)
            if (std::optional<ChecksumKind> kind = checksum_of_header(name))
              xml.text("Checksum" + std::string(checksum_name(*kind)), value);
          call->answer_xml(xml.finish());
        });
  });
}

void abort_upload(const CallPtr& call) {
  Call::ask<Nothing>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<Nothing>> {
        if (!TRY(catalog.upload(call->bucket, call->key, upload_id(*call))))
          return refuse("NoSuchUpload");
        TRY(catalog.end_upload(upload_id(*call), {}));
        return Nothing{};
      },
      [call](Nothing) {
        call->store.sweep();
        call->answer(204);
      });
}

void list_parts(const CallPtr& call) {
  using Parts = std::vector<PartInfo>;
  Call::ask<Parts>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<Parts>> {
        if (!TRY(catalog.upload(call->bucket, call->key, upload_id(*call))))
          return refuse("NoSuchUpload");
        return TRY(catalog.parts(upload_id(*call)));
      },
      [call](const Parts& parts) {
        auto number = [&](std::string_view name, int otherwise) {
          const std::string_view text = call->request.query.get(name);
          int value = otherwise;
          std::from_chars(text.data(), text.data() + text.size(), value);
          return value;
        };
        const int most = std::clamp(number("max-parts", 1000), 0, 1000);
        const int after = number("part-number-marker", 0);
        XmlWriter xml("ListPartsResult");
        xml.text("Bucket", call->bucket).text("Key", call->key);
        xml.text("UploadId", upload_id(*call)).text("StorageClass", "STANDARD");
        xml.text("MaxParts", std::to_string(most));
        xml.text("PartNumberMarker", std::to_string(after));
        int shown = 0, last = after;
        bool truncated = false;
        for (const PartInfo& part : parts) {
          if (part.number <= after) continue;
          if (shown == most) {
            truncated = true;
            break;
          }
          xml.open("Part")
              .text("PartNumber", std::to_string(part.number))
              .text("LastModified", xml_time(part.modified))
              .text("ETag", quoted_etag(part.etag))
              .text("Size", std::to_string(part.piece.bytes))
              .close();
          last = part.number;
          ++shown;
        }
        xml.text("NextPartNumberMarker", std::to_string(last));
        xml.text("IsTruncated", truncated ? "true" : "false");
        call->answer_xml(xml.finish());
      });
}

}  // namespace hekla::objects
