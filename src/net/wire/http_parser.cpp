#include "net/wire/http_parser.h"

#include <charconv>
#include <optional>

#include "base/check.h"
#include "net/text.h"

namespace hekla::net {
namespace {

constexpr std::size_t kMaxChunkLine = 4096;  // a size and its extensions
constexpr std::size_t kMaxTrailerBytes = 16384;
constexpr std::size_t kUsualFields = 12;  // of a head; kubectl sends 10, a browser a few more

std::unexpected<HttpError> bad(std::string message, int status = 400) {
  return std::unexpected(HttpError{status, std::move(message)});
}

std::string_view next_line(std::string_view& text) {
  std::size_t end = text.find("\r\n");
  CHECK(end != std::string_view::npos, "a head ends with an empty line");
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return line;
}

Parsed<Headers> parse_fields(std::string_view text) {
  Headers headers;
  headers.reserve(kUsualFields);
  while (true) {
    std::string_view line = next_line(text);
    if (line.empty()) return headers;
    if (line.front() == ' ' || line.front() == '\t') return bad("folded header line");
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return bad("header line without a colon");
    std::string_view name = line.substr(0, colon), value = trim(line.substr(colon + 1));
    if (!is_token(name)) return bad("invalid header name");
    if (!std::ranges::all_of(value, is_field_char))
      return bad("invalid character in a header value");
    headers.add(std::string(name), std::string(value));
  }
}

// "HTTP/1.x" to x.
Parsed<int> parse_version(std::string_view text) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' ||
      !is_digit(text[7]))
    return bad("malformed HTTP version");
  if (text[5] != '1' || text[7] > '1') return bad("unsupported HTTP version", 505);
  return text[7] - '0';
}

bool is_percent_encoding_valid(std::string_view text) {
  auto is_hex = [](char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); };
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (at + 2 >= text.size() || !is_hex(text[at + 1]) || !is_hex(text[at + 2])) return false;
  return true;
}

// The target without the scheme and authority that proxies are sent; empty: there is no path.
Parsed<std::string_view> origin_form(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() ||
        !equal_ignoring_case(target.substr(0, scheme.size()), scheme))
      continue;
    std::size_t authority = std::min(target.find_first_of("/?", scheme.size()), target.size());
    if (authority == scheme.size()) return bad("malformed request target");
    return target.substr(authority);
  }
  if (target.empty() || target.front() != '/') return bad("malformed request target");
  return target;
}

// Origin form, absolute form (as sent to proxies), or the asterisk of OPTIONS.
Parsed<void> parse_target(std::string_view sent, RequestHead& head) {
  auto is_visible = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  if (!std::ranges::all_of(sent, is_visible)) return bad("malformed request target");
  if (sent == "*" && head.method == "OPTIONS") {
    head.target = head.path = "*";
    head.query_from = 1;
    return {};
  }
  std::string_view target = TRY(origin_form(sent));
  target = target.substr(0, target.find('#'));
  if (target.empty() || target.front() == '?') head.target = "/";
  head.target += target;
  const std::size_t question = std::min(head.target.find('?'), head.target.size());
  const std::string_view path = std::string_view(head.target).substr(0, question);
  if (!is_percent_encoding_valid(path)) return bad("malformed percent-encoding in the path");
  head.path = url_decode(path);
  if (head.path.find('\0') != std::string::npos) return bad("NUL in the path");
  head.query_from = std::min(question + 1, head.target.size());
  return {};
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t number = 0;
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Absent: nullopt. A repeated Content-Length is refused even if the values agree.
Parsed<std::optional<std::uint64_t>> content_length(const Headers& headers) {
  std::vector<std::string_view> values = headers.get_all("Content-Length");
  if (values.empty()) return std::nullopt;
  if (values.size() > 1) return bad("repeated Content-Length");
  std::optional<std::uint64_t> length = parse_decimal(values[0]);
  if (!length) return bad("invalid Content-Length");
  return length;
}

std::string too_large(std::size_t limit) {
  return "Request entity too large: limit is " + std::to_string(limit);
}

}  // namespace

Parsed<RequestHead> parse_request_head(std::string_view text) {
  std::string_view line = next_line(text);
  std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return bad("malformed request line");
  RequestHead head;
  head.method = line.substr(0, first);
  if (!is_token(head.method)) return bad("malformed method");
  head.minor_version = TRY(parse_version(line.substr(last + 1)));
  TRY(parse_target(line.substr(first + 1, last - first - 1), head));
  head.headers = TRY(parse_fields(text));
  std::size_t hosts = head.headers.get_all("Host").size();
  if (hosts > 1) return bad("repeated Host header");
  if (hosts == 0 && head.minor_version == 1) return bad("missing Host header");
  return head;
}

Parsed<ResponseHead> parse_response_head(std::string_view text) {
  std::string_view line = next_line(text);
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' '))
    return bad("malformed status line");
  ResponseHead head;
  head.minor_version = TRY(parse_version(line.substr(0, 8)));
  std::optional<std::uint64_t> status = parse_decimal(line.substr(9, 3));
  if (!status || *status < 100) return bad("malformed status code");
  head.status = static_cast<int>(*status);
  head.headers = TRY(parse_fields(text));
  return head;
}

bool wants_keep_alive(const Headers& headers, int minor_version) {
  bool close = false, keep = false;
  for (std::string_view value : headers.get_all("Connection")) {
    close = close || list_contains(value, "close");
    keep = keep || list_contains(value, "keep-alive");
  }
  return !close && (minor_version >= 1 || keep);
}

Parsed<bool> HeadReader::feed(std::string_view& data) {
  std::size_t had = buffer_.size();
  buffer_.append(data);
  while (true) {
    std::size_t newline = buffer_.find('\n', scanned_);
    if (newline == std::string::npos) break;
    if (newline == 0 || buffer_[newline - 1] != '\r') return bad("line not ended by CRLF");
    bool empty_line = newline - line_start_ == 1;
    scanned_ = line_start_ = newline + 1;
    if (!empty_line) {
      in_message_ = true;
    } else if (!in_message_) {
      // RFC 9112 section 2.2: an empty line before the message is ignored. One is enough.
      if (begin_ != 0) return bad("empty lines before the message");
      begin_ = scanned_;
    } else {
      if (scanned_ > limit_bytes_) break;
      data.remove_prefix(scanned_ - had);
      buffer_.resize(scanned_);
      return true;
    }
  }
  if (buffer_.size() > limit_bytes_) return bad("request header fields too large", 431);
  scanned_ = buffer_.size();
  data = {};
  return false;
}

void HeadReader::reset() {
  buffer_ = {};  // ten thousand idle connections keep no buffers
  begin_ = scanned_ = line_start_ = 0;
  in_message_ = false;
}

Parsed<BodyReader> BodyReader::for_request(const Headers& headers, int minor_version,
                                           std::size_t limit_bytes) {
  BodyReader reader;
  reader.limit_bytes_ = limit_bytes;
  std::optional<std::uint64_t> length = TRY(content_length(headers));
  std::vector<std::string_view> codings = headers.get_all("Transfer-Encoding");
  if (!codings.empty()) {
    if (length) return bad("both Content-Length and Transfer-Encoding");
    if (minor_version == 0) return bad("Transfer-Encoding in an HTTP/1.0 request");
    if (codings.size() > 1) return bad("repeated Transfer-Encoding");
    if (!equal_ignoring_case(codings[0], "chunked"))
      return bad("unsupported transfer encoding", 501);
    reader.stage_ = Stage::chunk_size;
    return reader;
  }
  if (length.value_or(0) > 0) {
    if (*length > limit_bytes) return bad(too_large(limit_bytes), 413);
    reader.stage_ = Stage::length;
    reader.left_ = *length;
  }
  return reader;
}

Parsed<BodyReader> BodyReader::for_response(const ResponseHead& head, bool answers_head,
                                            std::size_t limit_bytes) {
  BodyReader reader;
  reader.limit_bytes_ = limit_bytes;
  if (answers_head || head.status < 200 || head.status == 204 || head.status == 304) return reader;
  std::vector<std::string_view> codings = head.headers.get_all("Transfer-Encoding");
  if (!codings.empty()) {
    if (codings.size() > 1 || !equal_ignoring_case(codings[0], "chunked"))
      return bad("unsupported transfer encoding");
    reader.stage_ = Stage::chunk_size;
    return reader;
  }
  std::optional<std::uint64_t> length = TRY(content_length(head.headers));
  if (!length) {
    reader.stage_ = Stage::until_close;
  } else if (*length > 0) {
    if (*length > limit_bytes)
      return bad("the body is larger than " + std::to_string(limit_bytes), 413);
    reader.stage_ = Stage::length;
    reader.left_ = *length;
  }
  return reader;
}

BodyReader BodyReader::until_close() {
  BodyReader reader;
  reader.stage_ = Stage::until_close;
  return reader;
}

Parsed<std::string_view> BodyReader::next(std::string_view& data) {
  while (!data.empty() && stage_ != Stage::done) {
    switch (stage_) {
      case Stage::length: {
        std::string_view piece = take(data);
        if (left_ == 0) stage_ = Stage::done;
        return piece;
      }
      case Stage::until_close:
        TRY(account(data.size()));
        return std::exchange(data, {});
      case Stage::chunk_data: {
        std::string_view piece = take(data);
        if (left_ == 0) stage_ = Stage::chunk_end;
        return piece;
      }
      case Stage::chunk_size:
      case Stage::chunk_end:
      case Stage::trailer:
        TRY(feed_line(data));
        break;
      case Stage::done:
        break;
    }
  }
  return std::string_view();
}

Parsed<std::string_view> BodyReader::gather(std::string_view& data, std::string& scratch) {
  std::string_view first = TRY(next(data));
  if (data.empty() || complete()) return first;
  scratch.assign(first);
  TRY(feed(data, scratch));
  return scratch;
}

Parsed<void> BodyReader::feed(std::string_view& data, std::string& out) {
  while (true) {
    std::string_view piece = TRY(next(data));
    if (piece.empty()) return {};
    out.append(piece);
  }
}

Parsed<void> BodyReader::at_eof() {
  if (stage_ == Stage::until_close) stage_ = Stage::done;
  if (stage_ != Stage::done) return bad("the message ends in the middle of its body");
  return {};
}

std::optional<std::uint64_t> BodyReader::left() const {
  if (stage_ == Stage::done) return 0;
  return stage_ == Stage::length ? std::optional(left_) : std::nullopt;
}

std::string_view BodyReader::take(std::string_view& data) {
  std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, data.size()));
  std::string_view piece = data.substr(0, size);
  data.remove_prefix(size);
  left_ -= size;
  return piece;
}

Parsed<void> BodyReader::account(std::uint64_t bytes) {
  seen_ += bytes;
  if (seen_ > limit_bytes_) return bad(too_large(limit_bytes_), 413);
  return {};
}

Parsed<void> BodyReader::feed_line(std::string_view& data) {
  std::size_t newline = data.find('\n');
  std::string_view piece = data.substr(0, newline);
  if (line_.size() + piece.size() > kMaxChunkLine) return bad("chunk line too long");
  line_.append(piece);
  if (newline == std::string_view::npos) {
    data = {};
    return {};
  }
  data.remove_prefix(newline + 1);
  if (line_.empty() || line_.back() != '\r') return bad("chunk line not ended by CRLF");
  line_.pop_back();
  if (!std::ranges::all_of(line_, is_field_char)) return bad("invalid character in a chunk line");
  TRY(on_line(line_));
  line_.clear();
  return {};
}

Parsed<void> BodyReader::on_line(std::string_view line) {
  if (stage_ == Stage::chunk_size) return on_chunk_size(line);
  if (stage_ == Stage::chunk_end) {
    if (!line.empty()) return bad("chunk longer than its size");
    stage_ = Stage::chunk_size;
    return {};
  }
  return on_trailer(line);
}

Parsed<void> BodyReader::on_trailer(std::string_view line) {
  trailer_bytes_ += line.size();
  if (trailer_bytes_ > kMaxTrailerBytes) return bad("trailer too large", 431);
  if (line.empty()) {
    stage_ = Stage::done;
    return {};
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return bad("malformed trailer");
  trailers_.add(std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1))));
  return {};
}

Parsed<void> BodyReader::on_chunk_size(std::string_view line) {
  std::string_view digits = line.substr(0, line.find(';'));
  std::uint64_t size = 0;
  if (digits.empty() || digits.size() > 15) return bad("invalid chunk size");
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (error != std::errc() || end != digits.data() + digits.size())
    return bad("invalid chunk size");
  TRY(account(size));
  left_ = size;
  stage_ = size == 0 ? Stage::trailer : Stage::chunk_data;
  return {};
}

Parsed<RequestParser::Step> RequestParser::feed(std::string_view& data) {
  CHECK(stage_ == Stage::head || stage_ == Stage::body,
        "the head is decided on, the body not streamed");
  if (stage_ == Stage::head) {
    if (!TRY(head_reader_.feed(data))) return Step::more;
    TRY(on_head());
    stage_ = Stage::decision;
    return Step::head;
  }
  TRY(body_reader_.feed(data, request_.body));
  return body_reader_.complete() ? Step::request : Step::more;
}

Parsed<void> RequestParser::on_head() {
  RequestHead head = TRY(parse_request_head(head_reader_.text()));
  keep_alive_ = wants_keep_alive(head.headers, head.minor_version);
  minor_version_ = head.minor_version;
  request_.query = Query::parse(std::string_view(head.target).substr(head.query_from));
  request_.method = std::move(head.method);
  request_.target = std::move(head.target);
  request_.path = std::move(head.path);
  request_.headers = std::move(head.headers);
  return {};
}

Parsed<void> RequestParser::begin_body(std::size_t max_body_bytes, bool streamed) {
  CHECK(stage_ == Stage::decision, "the head has come");
  body_reader_ = TRY(BodyReader::for_request(request_.headers, minor_version_, max_body_bytes));
  const bool has_body = !body_reader_.complete();
  if (request_.headers.has("Expect")) {
    if (!equal_ignoring_case(request_.headers.get("Expect"), "100-continue"))
      return bad("unsupported expectation", 417);
    continue_wanted_ = minor_version_ == 1 && has_body;
  }
  stage_ = streamed && has_body ? Stage::streamed_body : Stage::body;
  if (!streams_body()) return {};
  request_.body_streamed = true;
  request_.body_bytes = body_reader_.left();
  return {};
}

Request RequestParser::take() {
  CHECK(streams_body() || (stage_ == Stage::body && body_reader_.complete()),
        "the request is complete");
  if (!streams_body()) stage_ = Stage::head;
  continue_wanted_ = false;
  head_reader_.reset();
  return std::exchange(request_, Request{});
}

Headers RequestParser::end_body() {
  CHECK(streams_body() && body_reader_.complete(), "the streamed body is complete");
  stage_ = Stage::head;
  return body_reader_.take_trailers();
}

}  // namespace hekla::net
