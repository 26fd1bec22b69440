// HTTP/1.1 messages to bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/wire/http_parser.h"

namespace hekla::net {

// The facts of a request that decide the form of its answer.
struct AnswerForm {
  bool head_request = false;  // no body, whatever the handler says
  bool http10 = false;        // no chunks: a stream lasts until the connection closes
  bool accepts_gzip = false;  // a GET whose Accept-Encoding has gzip
  bool keep_alive = true;
};
AnswerForm answer_form(const Request& request, int minor_version, bool keep_alive);

// Gzips a large body if the client takes it and the handler has not encoded it already.
void compress_if_large(Response& response, const AnswerForm& form);

// A whole response's head; the body follows as it is, unless body_allowed() says no.
std::string format_response_head(const Response& response, const AnswerForm& form);
// A body of `body_bytes`, or of a length that only its end will tell.
std::string format_stream_head(int status, const Headers& headers,
                               std::optional<std::uint64_t> body_bytes, const AnswerForm& form);
// An answer before the one that counts.
std::string format_interim_head(int status, const Headers& headers);
// The end of a chunked body. Fields that say how a message is framed are left out.
std::string format_last_chunk(const Headers& trailers);
// 101 Switching Protocols.
std::string format_upgrade_head(const Headers& headers);
bool body_allowed(int status, const AnswerForm& form);

// A failure that the handler never sees or has left unanswered, as a Kubernetes Status.
Response status_response(const HttpError& error);

// The time now as in "Date: Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date();

}  // namespace hekla::net
