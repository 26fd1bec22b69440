#include "base/result.h"

#include <array>

namespace hekla {
namespace {

struct Entry {
  Code code;
  std::string_view reason;
  int status;
};

constexpr std::array kEntries{
    Entry{Code::bad_request, "BadRequest", 400},
    Entry{Code::unauthorized, "Unauthorized", 401},
    Entry{Code::forbidden, "Forbidden", 403},
    Entry{Code::not_found, "NotFound", 404},
    Entry{Code::method_not_allowed, "MethodNotAllowed", 405},
    Entry{Code::not_acceptable, "NotAcceptable", 406},
    Entry{Code::already_exists, "AlreadyExists", 409},
    Entry{Code::conflict, "Conflict", 409},
    Entry{Code::expired, "Expired", 410},
    Entry{Code::too_large, "RequestEntityTooLarge", 413},
    Entry{Code::unsupported_media_type, "UnsupportedMediaType", 415},
    Entry{Code::invalid, "Invalid", 422},
    Entry{Code::too_many_requests, "TooManyRequests", 429},
    Entry{Code::internal, "InternalError", 500},
    Entry{Code::unavailable, "ServiceUnavailable", 503},
    Entry{Code::timeout, "Timeout", 504},
};

}  // namespace

std::string_view reason_of(Code code) { return kEntries[static_cast<std::size_t>(code)].reason; }

int http_status_of(Code code) { return kEntries[static_cast<std::size_t>(code)].status; }

Code code_from(std::string_view reason, int http_status) {
  for (const Entry& entry : kEntries)
    if (entry.reason == reason) return entry.code;
  if (reason == "Gone") return Code::expired;
  if (http_status == 409) return Code::conflict;
  for (const Entry& entry : kEntries)
    if (entry.status == http_status) return entry.code;
  return Code::internal;
}

}  // namespace hekla
