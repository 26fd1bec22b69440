// One DNS message in, one out; the wire format is ldns's. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/dns/zone.h"

namespace hekla::agent {

struct DnsAnswer {
  std::string wire;
  // A name that is not the cluster's to know and that the answer leads to: what was asked, of which
  // the answer then is a refusal, or what an alias of the cluster stands for.
  std::string elsewhere;
};

// The answer to `query` with TTL 5, or nothing when it is not a question. An answer longer than
// `limit` bytes is cut to its header with the TC bit, so that the client asks again by TCP.
std::optional<DnsAnswer> answer_query(const Zone& zone, std::string_view query, std::size_t limit);

// The same question about another name.
std::optional<std::string> query_for(std::string_view query, const std::string& name);
// The answer to a client whose `query` led elsewhere: our own part, and `theirs` that came of
// query_for.
std::optional<std::string> join_answers(std::string_view query, const std::string& own,
                                        const std::string& theirs, std::size_t limit);

}  // namespace hekla::agent
