// S3's bodies: documents made piece by piece, and the few that clients send.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "objects/wire/s3_error.h"

namespace hekla::objects {

// Writes one document; elements are closed in the order in which they were opened.
class XmlWriter {
 public:
  // With S3's namespace unless `plain`.
  explicit XmlWriter(std::string_view root, bool plain = false);
  XmlWriter& open(std::string_view name);
  XmlWriter& close();
  XmlWriter& text(std::string_view name, std::string_view value);
  std::string finish();

 private:
  std::string out_;
  std::vector<std::string> open_;
};

// "2013-05-24T00:00:00.000Z", as listings have it.
std::string xml_time(WallTime at);
// "Fri, 24 May 2013 00:00:00 GMT", as headers have it, and back.
std::string http_time(WallTime at);
std::optional<WallTime> parse_http_time(std::string_view text);

std::string error_document(const S3Error& error, std::string_view resource,
                           std::string_view request_id);

struct CompletedPart {
  int number = 0;
  std::string etag;                              // without quotes
  std::map<std::string, std::string> checksums;  // header name to value
};
Outcome<std::vector<CompletedPart>> read_completion(const std::string& body);

struct Deletion {
  std::vector<std::string> keys;
  bool quiet = false;
};
Outcome<Deletion> read_deletion(const std::string& body);

Outcome<std::map<std::string, std::string>> read_tagging(const std::string& body);
// The x-amz-tagging header: name=value&name=value.
Outcome<std::map<std::string, std::string>> read_tag_header(std::string_view text);

}  // namespace hekla::objects
