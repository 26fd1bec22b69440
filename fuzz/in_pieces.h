// A stream reader fed the same bytes in pieces: what it makes of them must not depend on the cuts.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

template <class Event>
struct ReaderOutcome {
  std::vector<Event> events;
  bool failed = false;
};

// `Reader::feed(piece, events)` is false once the bytes are beyond hope.
template <class Event, class Reader>
ReaderOutcome<Event> read_in_pieces(Reader reader, std::string_view text, std::size_t step) {
  ReaderOutcome<Event> outcome;
  for (std::size_t at = 0; at < text.size() && !outcome.failed; at += step)
    outcome.failed = !reader.feed(text.substr(at, step), outcome.events);
  return outcome;
}
