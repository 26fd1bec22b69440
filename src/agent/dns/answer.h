// One DNS message in, one out; the wire format is ldns's. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dns/zone.h"

namespace hekla::agent {

// The answer to `query` with TTL 5, or nothing when it is not a question. An answer longer than
// `limit` bytes is cut to its header with the TC bit, so that the client asks again by TCP.
std::optional<std::string> answer_query(const Zone& zone, std::string_view query,
                                        std::size_t limit);

}  // namespace hekla::agent
