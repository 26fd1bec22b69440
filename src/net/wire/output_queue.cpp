#include "net/wire/output_queue.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace hekla::net {
namespace {

void append_chunk_size(std::size_t size, std::string& out) {
  std::array<char, 16> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), size, 16).ptr);
  out += "\r\n";
}

}  // namespace

void OutputQueue::push(SharedBytes bytes, Form form) {
  CHECK(bytes != nullptr, "bytes are shared, not absent");
  if (!bytes->empty()) pieces_.push_back({std::move(bytes), form});
}

void OutputQueue::push(BodyTail tail) {
  CHECK(tail.bytes == 0 || tail.next, "a tail is made by somebody");
  if (tail.bytes > 0) pieces_.push_back({.bytes = {}, .tail = std::move(tail)});
}

std::size_t OutputQueue::take(std::string& out, std::size_t limit_bytes) {
  std::size_t framing = 0;
  while (front_ < pieces_.size() && out.size() < limit_bytes) {
    if (pieces_[front_].tail.bytes > 0)
      append_tail(out, limit_bytes);
    else if (pieces_[front_].form == Form::chunk)
      framing += append_chunk(out, limit_bytes);
    else
      append_front(out, limit_bytes - out.size());
  }
  pieces_.erase(pieces_.begin(),
                pieces_.begin() + static_cast<std::ptrdiff_t>(std::exchange(front_, 0)));
  return framing;
}

// Everything written since the last turn goes out as one chunk: readers see a stream, not chunks.
std::size_t OutputQueue::append_chunk(std::string& out, std::size_t limit_bytes) {
  const std::size_t room = limit_bytes - out.size();
  std::size_t size = 0;
  for (std::size_t i = front_; i < pieces_.size() && pieces_[i].form == Form::chunk && size < room;
       ++i)
    size += pieces_[i].left();
  size = std::min(size, room);
  const std::size_t before = out.size();
  append_chunk_size(size, out);
  const std::size_t framing = out.size() - before + 2;
  while (size > 0) size -= append_front(out, size);
  out += "\r\n";
  return framing;
}

void OutputQueue::append_tail(std::string& out, std::size_t limit_bytes) {
  BodyTail& tail = pieces_[front_].tail;
  const std::size_t before = out.size(), wanted = std::min(limit_bytes - before, tail.bytes);
  while (out.size() - before < wanted) tail.next(out);
  const std::size_t made = out.size() - before;
  CHECK(made <= tail.bytes, "a body is longer than its head has said");
  tail.bytes -= made;
  if (tail.bytes == 0) ++front_;
}

std::size_t OutputQueue::append_front(std::string& out, std::size_t limit_bytes) {
  Piece& piece = pieces_[front_];
  const std::size_t size = std::min(piece.left(), limit_bytes);
  out.append(*piece.bytes, piece.taken, size);
  piece.taken += size;
  if (piece.left() == 0) {
    piece.bytes = nullptr;
    ++front_;
  }
  return size;
}

std::size_t OutputQueue::held_bytes() const {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.bytes ? piece.bytes->size() : 0;
  return bytes;
}

}  // namespace hekla::net
