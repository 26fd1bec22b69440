#include "apiserver/request/exchange.h"

#include <algorithm>

#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"
#include "base/check.h"

namespace hekla::apiserver {

constexpr std::size_t kWarningBytes = 4096, kCutWarningBytes = 256;

void Exchange::add_headers(net::Headers& headers) const {
  headers.set("Audit-Id", audit_id);
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-cache, private");
  // Too much in all, and each is cut short.
  std::size_t total = 0;
  for (const std::string& warning : warnings) total += warning.size();
  const bool cut = total > kWarningBytes;
  std::size_t written = 0;
  for (const std::string& warning : warnings) {
    if (written >= kWarningBytes) break;
    std::string_view text = warning;
    if (cut && text.size() > kCutWarningBytes) {
      text = text.substr(0, kCutWarningBytes);
      while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
        text.remove_suffix(1);
      if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0)
        text.remove_suffix(1);
    }
    written += text.size();
    headers.add("Warning", "299 - " + go_quote(text));
  }
}

void Exchange::count(int status) const {
  if (!serving.metrics) return;
  // A label is kept for ever, and anybody may invent methods.
  static constexpr std::string_view kVerbs[]{
      "get",    "list", "watch", "create",           "update", "patch",
      "delete", "post", "put",   "deletecollection", "head",   "options"};
  const bool known = std::ranges::find(kVerbs, info.verb) != std::end(kVerbs);
  const std::string verb = known ? info.verb : "other";
  std::string resource = info.is_resource && served ? info.plural : "";
  serving.metrics->count(
      "apiserver_request_total",
      {{"verb", verb}, {"resource", resource}, {"code", std::to_string(status)}});
  std::chrono::duration<double> took = serving.clock->mono() - begun;
  serving.metrics->observe("apiserver_request_duration_seconds", took.count(),
                           {{"verb", verb}, {"resource", resource}});
}

void Exchange::respond(net::Response response) const {
  CHECK(writer && response.status >= 100, "an answer has a status and somebody to send it");
  add_headers(response.headers);
  count(response.status);
  writer->respond(std::move(response));
}

void Exchange::respond(const Error& error) const {
  respond(error_response(error, wants_pretty(request)));
}

}  // namespace hekla::apiserver
