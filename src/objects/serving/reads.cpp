// Objects on their way out. Small ones leave whole; large ones as their readers take them.
#include <algorithm>
#include <charconv>

#include "objects/keeping/conditions.h"
#include "objects/serving/operations.h"
#include "objects/wire/checksum.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

constexpr std::size_t kBlock = 256 * 1024, kAhead = 1 << 20;

struct Opened {
  ObjectInfo object;
  std::vector<std::shared_ptr<const Held>> held;  // beside object.pieces; none for HEAD
};

// Sends pieces while the reader takes them. Lives as long as the answer does.
struct Sender : std::enable_shared_from_this<Sender> {
  std::shared_ptr<net::ResponseWriter> writer;
  Opened opened;
  std::uint64_t at = 0, left = 0;  // in the whole object

  void pump() {
    while (left > 0 && writer->pending_bytes() < kAhead && !writer->is_closed()) {
      std::string block;
      if (!read(block)) return writer->abort();
      at += block.size();
      left -= block.size();
      writer->write(std::move(block));
    }
    if (left == 0) writer->end();
  }
  bool read(std::string& block) {
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < opened.object.pieces.size(); ++i) {
      const std::uint64_t bytes = opened.object.pieces[i].bytes;
      if (at < begin + bytes) {
        const std::uint64_t size = std::min({left, begin + bytes - at, std::uint64_t{kBlock}});
        return opened.held[i]->read(at - begin, size, block).has_value();
      }
      begin += bytes;
    }
    return false;
  }
};

std::string_view override_of(std::string_view header) {
  constexpr std::pair<std::string_view, std::string_view> kOverrides[] = {
      {"content-type", "response-content-type"},
      {"content-language", "response-content-language"},
      {"expires", "response-expires"},
      {"cache-control", "response-cache-control"},
      {"content-disposition", "response-content-disposition"},
      {"content-encoding", "response-content-encoding"}};
  for (const auto& [name, query] : kOverrides)
    if (name == header) return query;
  return {};
}

net::Headers object_headers(const Call& call, const ObjectInfo& object) {
  net::Headers headers = call.headers();
  headers.add("Last-Modified", http_time(object.modified));
  headers.add("ETag", quoted_etag(object.etag));
  headers.add("Accept-Ranges", "bytes");
  std::map<std::string, std::string> fields = object.metadata.headers;
  for (std::string_view name : {"content-type", "content-language", "expires", "cache-control",
                                "content-disposition", "content-encoding"})
    if (std::string_view value = call.request.query.get(override_of(name)); !value.empty())
      fields[std::string(name)] = value;
  fields.try_emplace("content-type", "binary/octet-stream");
  for (const auto& [name, value] : fields) headers.add(name, value);
  for (const auto& [name, value] : object.metadata.user) headers.add("x-amz-meta-" + name, value);
  if (!object.metadata.tags.empty())
    headers.add("x-amz-tagging-count", std::to_string(object.metadata.tags.size()));
  return headers;
}

// One part of a multipart object, by ?partNumber.
Outcome<std::optional<ByteRange>> part_range(const Call& call, const ObjectInfo& object) {
  const std::string_view text = call.request.query.get("partNumber");
  if (text.empty()) return read_range(call.request.headers.get("range"), object.bytes);
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  if (number < 1 || number > std::max<std::size_t>(object.pieces.size(), 1))
    return refuse("InvalidRange", "The object has no part of this number.");
  ByteRange range;
  for (std::size_t i = 0; i + 1 < number; ++i) range.first += object.pieces[i].bytes;
  range.bytes = object.pieces.empty() ? 0 : object.pieces[number - 1].bytes;
  if (range.bytes == 0) return std::nullopt;
  return range;
}

void send(const CallPtr& call, Opened opened) {
  const ObjectInfo& object = opened.object;
  if (Outcome<void> holds = check_read(call->request.headers, object); !holds) {
    if (holds.error().status != 304) return call->fail(holds.error());
    net::Headers headers;
    headers.add("ETag", quoted_etag(object.etag));
    headers.add("Last-Modified", http_time(object.modified));
    return call->answer(304, std::move(headers));
  }
  Outcome<std::optional<ByteRange>> range = part_range(*call, object);
  if (!range) return call->fail(range.error());
  net::Headers headers = object_headers(*call, object);
  const ByteRange bytes = range->value_or(ByteRange{0, object.bytes});
  if (*range) {
    headers.add("Content-Range", "bytes " + std::to_string(bytes.first) + "-" +
                                     std::to_string(bytes.first + bytes.bytes - 1) + "/" +
                                     std::to_string(object.bytes));
  } else if (call->request.headers.get("x-amz-checksum-mode") == "ENABLED") {
    for (const auto& [name, value] : object.metadata.checksums) headers.add(name, value);
  }
  if (object.pieces.size() > 1 && call->request.query.has("partNumber"))
    headers.add("x-amz-mp-parts-count", std::to_string(object.pieces.size()));
  auto sender = std::make_shared<Sender>();
  sender->writer = call->writer;
  sender->opened = std::move(opened);
  sender->at = bytes.first;
  sender->left = bytes.bytes;
  call->writer->on_drained([sender] { sender->pump(); });
  call->writer->begin_sized(*range ? 206 : 200, std::move(headers), bytes.bytes);
  if (call->request.method == "HEAD") return call->writer->end();
  sender->pump();
}

}  // namespace

void read_object_content(const CallPtr& call) {
  if (std::string_view version = call->request.query.get("versionId");
      !version.empty() && version != "null")
    return call->fail(s3_error("NoSuchVersion"));
  const bool content = call->request.method == "GET";
  Call::ask<Opened>(
      call,
      [call, content](Catalog& catalog) -> Result<Outcome<Opened>> {
        std::optional<ObjectInfo> object = TRY(catalog.find(call->bucket, call->key));
        if (!object)
          return TRY(catalog.has_bucket(call->bucket)) ? refuse("NoSuchKey")
                                                       : refuse("NoSuchBucket");
        Opened opened{std::move(*object), {}};
        if (content)
          for (const Piece& piece : opened.object.pieces)
            opened.held.push_back(TRY(catalog.hold(piece)));
        return opened;
      },
      [call](Opened opened) { send(call, std::move(opened)); });
}

void object_attributes(const CallPtr& call) {
  Call::ask<ObjectInfo>(
      call,
      [call](Catalog& catalog) -> Result<Outcome<ObjectInfo>> {
        std::optional<ObjectInfo> object = TRY(catalog.find(call->bucket, call->key));
        if (!object) return refuse("NoSuchKey");
        return std::move(*object);
      },
      [call](ObjectInfo object) {
        const std::string wanted(call->request.headers.get("x-amz-object-attributes"));
        XmlWriter xml("GetObjectAttributesResponse");
        if (wanted.contains("ETag")) xml.text("ETag", object.etag);
        if (wanted.contains("Checksum") && !object.metadata.checksums.empty()) {
          xml.open("Checksum");
          for (const auto& [name, value] : object.metadata.checksums)
            if (std::optional<ChecksumKind> kind = checksum_of_header(name))
              xml.text("Checksum" + std::string(checksum_name(*kind)), value);
          xml.close();
        }
        if (wanted.contains("ObjectParts") && object.pieces.size() > 1)
          xml.open("ObjectParts")
              .text("TotalPartsCount", std::to_string(object.pieces.size()))
              .close();
        if (wanted.contains("StorageClass")) xml.text("StorageClass", "STANDARD");
        if (wanted.contains("ObjectSize")) xml.text("ObjectSize", std::to_string(object.bytes));
        net::Headers headers;
        headers.add("Last-Modified", http_time(object.modified));
        call->answer_xml(xml.finish(), std::move(headers));
      });
}

void object_acl(const CallPtr& call) {
  XmlWriter xml("AccessControlPolicy");
  xml.open("Owner").text("ID", "hekla").text("DisplayName", "hekla").close();
  xml.open("AccessControlList").open("Grant");
  xml.open("Grantee").text("ID", "hekla").text("DisplayName", "hekla").close();
  xml.text("Permission", "FULL_CONTROL");
  call->answer_xml(xml.finish());
}

}  // namespace hekla::objects
