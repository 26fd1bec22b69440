#include "objects/wire/xml.h"

#include <charconv>
#include <cstring>
#include <ctime>
#include <optional>
#include <pugixml.hpp>

#include "base/check.h"
#include "base/markup.h"
#include "net/http.h"
#include "objects/wire/checksum.h"

namespace hekla::objects {
namespace {

constexpr std::size_t kMostTags = 10, kTagNameBytes = 128, kTagValueBytes = 256;
constexpr std::size_t kMostDeletions = 1000, kMostParts = 10'000;

void escape_to(std::string& out, std::string_view text) {
  for (char c : text) {
    if (const std::string_view entity = markup_entity(c); !entity.empty())
      out += entity;
    else if (c == '\r')
      out += "&#xD;";
    // XML 1.0 has no way to write other control characters; clients ask for URL encoding.
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n')
      out += "&#xFFFD;";
    else
      out += c;
  }
}

Outcome<pugi::xml_document> parse(const std::string& body) {
  pugi::xml_document document;
  // No entities beyond XML's own and no DTD: pugixml expands none.
  if (!document.load_buffer(body.data(), body.size(), pugi::parse_default | pugi::parse_ws_pcdata))
    return refuse("MalformedXML");
  return document;
}

std::string unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

Outcome<void> add_tag(std::map<std::string, std::string>& tags, std::string name,
                      std::string value) {
  if (name.empty() || name.size() > kTagNameBytes || value.size() > kTagValueBytes)
    return refuse("InvalidTag");
  if (!tags.emplace(std::move(name), std::move(value)).second)
    return refuse("InvalidTag", "Two tags have the same key.");
  if (tags.size() > kMostTags) return refuse("InvalidTag", "An object has at most 10 tags.");
  return {};
}

std::tm civil(WallTime at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(at));
  std::tm time{};
  gmtime_r(&seconds, &time);
  return time;
}

}  // namespace

XmlWriter::XmlWriter(std::string_view root, bool plain)
    : out_("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<") {
  out_ += root;
  if (!plain) out_ += " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
  out_ += '>';
  open_.emplace_back(root);
}

XmlWriter& XmlWriter::open(std::string_view name) {
  out_ += '<';
  out_ += name;
  out_ += '>';
  open_.emplace_back(name);
  return *this;
}

XmlWriter& XmlWriter::close() {
  CHECK(!open_.empty(), "an element is open");
  out_ += "</" + open_.back() + ">";
  open_.pop_back();
  return *this;
}

XmlWriter& XmlWriter::text(std::string_view name, std::string_view value) {
  open(name);
  escape_to(out_, value);
  return close();
}

std::string XmlWriter::finish() {
  while (!open_.empty()) close();
  return std::move(out_);
}

std::string xml_time(WallTime at) {
  const std::tm time = civil(at);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch() %
                  std::chrono::seconds(1);
  char text[48];
  std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &time);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ms.count()));
  return text;
}

std::string http_time(WallTime at) {
  const std::tm time = civil(at);
  char text[48];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &time);
  return text;
}

std::optional<WallTime> parse_http_time(std::string_view text) {
  for (const char* form :
       {"%a, %d %b %Y %H:%M:%S GMT", "%Y-%m-%dT%H:%M:%SZ", "%A, %d-%b-%y %H:%M:%S GMT"}) {
    std::tm time{};
    const std::string whole(text);
    const char* end = strptime(whole.c_str(), form, &time);
    if (end && *end == '\0')
      return WallTime(std::chrono::seconds(static_cast<std::int64_t>(timegm(&time))));
  }
  return std::nullopt;
}

std::string error_document(const S3Error& error, std::string_view resource,
                           std::string_view request_id) {
  return XmlWriter("Error", true)
      .text("Code", error.code)
      .text("Message", error.message)
      .text("Resource", resource)
      .text("RequestId", request_id)
      .finish();
}

Outcome<std::vector<CompletedPart>> read_completion(const std::string& body) {
  pugi::xml_document document = TRY(parse(body));
  std::vector<CompletedPart> parts;
  for (pugi::xml_node node : document.child("CompleteMultipartUpload").children("Part")) {
    CompletedPart part;
    part.number = node.child("PartNumber").text().as_int(-1);
    part.etag = unquoted(node.child_value("ETag"));
    if (part.number < 1 || part.etag.empty()) return refuse("MalformedXML");
    for (ChecksumKind kind : {ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme,
                              ChecksumKind::sha1, ChecksumKind::sha256}) {
      const std::string name = "Checksum" + std::string(checksum_name(kind));
      if (const char* value = node.child_value(name.c_str()); *value)
        part.checksums[std::string(checksum_header(kind))] = value;
    }
    parts.push_back(std::move(part));
    if (parts.size() > kMostParts) return refuse("MalformedXML", "There are too many parts.");
  }
  if (parts.empty()) return refuse("MalformedXML", "There are no parts.");
  return parts;
}

Outcome<Deletion> read_deletion(const std::string& body) {
  pugi::xml_document document = TRY(parse(body));
  const pugi::xml_node root = document.child("Delete");
  Deletion deletion;
  deletion.quiet = root.child("Quiet").text().as_bool(false);
  for (pugi::xml_node node : root.children("Object")) {
    deletion.keys.emplace_back(node.child_value("Key"));
    if (deletion.keys.back().empty() || deletion.keys.size() > kMostDeletions)
      return refuse("MalformedXML");
  }
  if (deletion.keys.empty()) return refuse("MalformedXML");
  return deletion;
}

Outcome<std::map<std::string, std::string>> read_tagging(const std::string& body) {
  pugi::xml_document document = TRY(parse(body));
  const pugi::xml_node set = document.child("Tagging").child("TagSet");
  if (!set) return refuse("MalformedXML");
  std::map<std::string, std::string> tags;
  for (pugi::xml_node node : set.children("Tag"))
    TRY(add_tag(tags, node.child_value("Key"), node.child_value("Value")));
  return tags;
}

Outcome<std::map<std::string, std::string>> read_tag_header(std::string_view text) {
  std::map<std::string, std::string> tags;
  const net::Query query = net::Query::parse(text);
  for (const auto& [name, value] : query.all()) TRY(add_tag(tags, name, value));
  return tags;
}

}  // namespace hekla::objects
