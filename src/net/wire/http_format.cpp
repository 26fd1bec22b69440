#include "net/wire/http_format.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "net/gzip.h"
#include "net/text.h"

namespace hekla::net {
namespace {

constexpr std::size_t kGzipFrom = 128 * 1024;  // as kube-apiserver does

struct Reason {
  int status;
  std::string_view phrase;
};
constexpr Reason kReasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {102, "Processing"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Request Entity Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Entity"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

std::string_view reason_phrase(int status) {
  const Reason* found = std::ranges::find(kReasons, status, &Reason::status);
  return found == std::end(kReasons) ? "Status" : found->phrase;
}

// Header texts may carry what users wrote (warnings, names): a line break would forge headers.
void append_field(std::string& out, std::string_view name, std::string_view value) {
  if (!is_token(name)) return;
  out += name;
  out += ": ";
  for (char c : value) out += is_field_char(c) ? c : ' ';
  out += "\r\n";
}

// Framing is ours: what the handler says about it is not repeated.
bool is_framing(std::string_view name) {
  for (std::string_view ours : {"Content-Length", "Transfer-Encoding", "Connection", "Date"})
    if (equal_ignoring_case(name, ours)) return true;
  return false;
}

std::string status_line(int status) {
  std::string out;
  out.reserve(512);
  out += "HTTP/1.1 " + std::to_string(status) + " ";
  out += reason_phrase(status);
  out += "\r\n";
  return out;
}

std::string head_start(int status, const Headers& headers, const AnswerForm& form) {
  std::string out = status_line(status);
  for (const auto& [name, value] : headers.all())
    if (!is_framing(name)) append_field(out, name, value);
  append_field(out, "Date", http_date());
  if (!form.keep_alive)
    append_field(out, "Connection", "close");
  else if (form.http10)
    append_field(out, "Connection", "keep-alive");
  return out;
}

std::string reason_for(int http_status) {
  Code code = code_from("", http_status);
  return http_status_of(code) == http_status ? std::string(reason_of(code)) : std::string();
}

}  // namespace

AnswerForm answer_form(const Request& request, int minor_version, bool keep_alive) {
  AnswerForm form{.head_request = request.method == "HEAD",
                  .http10 = minor_version == 0,
                  .keep_alive = keep_alive};
  if (request.method != "GET") return form;
  for (std::string_view value : request.headers.get_all("Accept-Encoding"))
    for_each_element(value, [&](std::string_view element) {
      std::string_view coding = trim(element.substr(0, element.find(';')));
      bool refused =
          element.find("q=0") != std::string_view::npos &&
          element.find_first_of("123456789", element.find("q=0")) == std::string_view::npos;
      if (equal_ignoring_case(coding, "gzip") && !refused) form.accepts_gzip = true;
    });
  return form;
}

void compress_if_large(Response& response, const AnswerForm& form) {
  if (!form.accepts_gzip || response.body.size() + response.tail.bytes <= kGzipFrom ||
      response.headers.has("Content-Encoding"))
    return;
  complete_body(response);
  response.body = gzip_compress(response.body);
  response.headers.add("Content-Encoding", "gzip");
  response.headers.add("Vary", "Accept-Encoding");
}

bool body_allowed(int status, const AnswerForm& form) {
  return !form.head_request && status >= 200 && status != 204 && status != 304;
}

std::string format_response_head(const Response& response, const AnswerForm& form) {
  std::string out = head_start(response.status, response.headers, form);
  std::string_view said = response.headers.get("Content-Length");
  if (form.head_request && response.body.empty() && !said.empty())
    append_field(out, "Content-Length", said);  // the size a GET would have had
  else if (response.status >= 200 && response.status != 204 && response.status != 304)
    append_field(out, "Content-Length", std::to_string(response.body.size() + response.tail.bytes));
  out += "\r\n";
  return out;
}

std::string format_stream_head(int status, const Headers& headers,
                               std::optional<std::uint64_t> body_bytes, const AnswerForm& form) {
  std::string out = head_start(status, headers, form);
  const bool has_length = status >= 200 && status != 204 && status != 304;
  if (has_length && body_bytes)
    append_field(out, "Content-Length", std::to_string(*body_bytes));
  else if (has_length && !form.http10)
    append_field(out, "Transfer-Encoding", "chunked");
  out += "\r\n";
  return out;
}

std::string format_interim_head(int status, const Headers& headers) {
  std::string out = status_line(status);
  for (const auto& [name, value] : headers.all())
    if (!is_framing(name)) append_field(out, name, value);
  out += "\r\n";
  return out;
}

std::string format_last_chunk(const Headers& trailers) {
  std::string out = "0\r\n";
  for (const auto& [name, value] : trailers.all())
    if (!is_framing(name)) append_field(out, name, value);
  out += "\r\n";
  return out;
}

std::string format_upgrade_head(const Headers& headers) {
  std::string out = head_start(101, headers, AnswerForm{});
  append_field(out, "Connection", "Upgrade");
  out += "\r\n";
  return out;
}

Response status_response(const HttpError& error) {
  Response response;
  response.status = error.status;
  response.headers.add("Content-Type", "application/json");
  std::string reason = reason_for(error.status);
  response.body =
      "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
      "\"message\":\"" +
      error.message + "\"," + (reason.empty() ? "" : "\"reason\":\"" + reason + "\",") +
      "\"code\":" + std::to_string(error.status) + "}";
  return response;
}

std::string http_date() {
  static constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  thread_local std::time_t formatted = -1;
  thread_local std::array<char, 64> text;
  auto since_epoch = real_clock().wall().time_since_epoch();
  std::time_t now = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
  if (now != formatted) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::snprintf(text.data(), text.size(), "%s, %02d %s %d %02d:%02d:%02d GMT",
                  kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                  kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                  parts.tm_hour, parts.tm_min, parts.tm_sec);
    formatted = now;
  }
  return text.data();
}

}  // namespace hekla::net
