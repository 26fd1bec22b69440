#include "net/websocket.h"

#include <openssl/evp.h>

#include "base/bytes.h"
#include "base/check.h"
#include "net/text.h"

namespace hekla::net {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kMaxControl = 125;
constexpr std::size_t kKeyBytes = 16;
constexpr std::uint8_t kFinal = 0x80, kReserved = 0x70, kOpcode = 0x0f, kMasked = 0x80;

bool is_control(std::uint8_t opcode) { return (opcode & 0x8) != 0; }

std::string accept_key(std::string_view key) {
  std::string text = std::string(key) + std::string(kGuid);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) == 1);
  return base64_encode(std::string_view(reinterpret_cast<const char*>(digest), size));
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

bool wants_websocket(const Request& request) {
  bool upgrade = false;
  for (std::string_view value : request.headers.get_all("Connection"))
    upgrade |= list_contains(value, "upgrade");
  return upgrade && equal_ignoring_case(trim(request.headers.get("Upgrade")), "websocket");
}

std::vector<std::string> websocket_protocols(const Request& request) {
  std::vector<std::string> out;
  for (std::string_view value : request.headers.get_all("Sec-WebSocket-Protocol"))
    for_each_element(value, [&](std::string_view name) { out.emplace_back(name); });
  return out;
}

Result<Headers> websocket_answer(const Request& request, std::string_view protocol) {
  std::string_view key = trim(request.headers.get("Sec-WebSocket-Key"));
  std::optional<std::string> decoded = base64_decode(key);
  if (!decoded || decoded->size() != kKeyBytes)
    return fail(Code::bad_request, "the Sec-WebSocket-Key header is missing or malformed");
  if (trim(request.headers.get("Sec-WebSocket-Version")) != "13")
    return fail(Code::bad_request, "the Sec-WebSocket-Version header must be 13");
  Headers headers;
  headers.set("Upgrade", "websocket");
  headers.set("Sec-WebSocket-Accept", accept_key(key));
  if (!protocol.empty()) headers.set("Sec-WebSocket-Protocol", std::string(protocol));
  return headers;
}

std::string websocket_frame(WebSocketOpcode opcode, std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + 10);
  out += static_cast<char>(kFinal | static_cast<std::uint8_t>(opcode));
  if (payload.size() <= kMaxControl) {
    out += static_cast<char>(payload.size());
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(126);
    append_big_endian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(127);
    append_big_endian(out, payload.size(), 8);
  }
  out += payload;
  return out;
}

std::string websocket_close(std::uint16_t code, std::string_view reason) {
  std::string payload;
  append_big_endian(payload, code, 2);
  payload += reason.substr(0, kMaxControl - 2);
  return websocket_frame(WebSocketOpcode::close, payload);
}

Result<void> WebSocketReader::check_head(std::uint8_t first, std::uint8_t second) const {
  std::uint8_t opcode = first & kOpcode;
  bool known = opcode <= 2 || (opcode >= 8 && opcode <= 10);
  if ((first & kReserved) != 0 || !known) return fail(Code::bad_request, "an unknown frame");
  if (((second & kMasked) != 0) != (from_ == From::client))
    return fail(Code::bad_request, "a client's frames must be masked, and no server's");
  if (is_control(opcode)) {
    if ((first & kFinal) == 0 || (second & 0x7f) > kMaxControl)
      return fail(Code::bad_request, "a control frame must be short and whole");
    return {};
  }
  if ((opcode == 0) != in_message_)
    return fail(Code::bad_request, "frames of one message must follow each other");
  return {};
}

Result<WebSocketReader::Head> WebSocketReader::parse_head(std::string_view data) const {
  Head head;
  if (data.size() < 2) return head;
  auto first = static_cast<std::uint8_t>(data[0]), second = static_cast<std::uint8_t>(data[1]);
  TRY(check_head(first, second));
  std::size_t extra = (second & 0x7f) == 126 ? 2 : (second & 0x7f) == 127 ? 8 : 0;
  std::size_t size = 2 + extra + (from_ == From::client ? 4 : 0);
  if (data.size() < size) return head;
  std::uint64_t length = extra == 0 ? second & 0x7f : big_endian(data.substr(2, extra));
  if (length > limit_ || (in_message_ && partial_.payload.size() + length > limit_))
    return fail(Code::too_large, "the message is too large");
  head.final = (first & kFinal) != 0;
  head.opcode = static_cast<WebSocketOpcode>(first & kOpcode);
  head.length = length;
  head.size = size;
  return head;
}

Result<void> WebSocketReader::feed(std::string_view data, std::vector<WebSocketMessage>& out) {
  buffer_ += data;
  std::string_view rest = buffer_;
  while (true) {
    Result<Head> head = parse_head(rest);
    if (!head) return std::unexpected(head.error());
    if (head->size == 0 || rest.size() < head->size + head->length) break;
    std::string payload(rest.substr(head->size, head->length));
    if (from_ == From::client) {
      std::string_view mask = rest.substr(head->size - 4, 4);
      for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<char>(payload[i] ^ mask[i % 4]);
    }
    rest.remove_prefix(head->size + head->length);
    on_frame(*head, std::move(payload), out);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return {};
}

void WebSocketReader::on_frame(const Head& head, std::string payload,
                               std::vector<WebSocketMessage>& out) {
  if (is_control(static_cast<std::uint8_t>(head.opcode)))
    return out.push_back({head.opcode, std::move(payload)});
  if (!in_message_) partial_ = {head.opcode, {}};
  partial_.payload += payload;
  in_message_ = !head.final;
  if (head.final) out.push_back(std::exchange(partial_, {}));
}

}  // namespace hekla::net
