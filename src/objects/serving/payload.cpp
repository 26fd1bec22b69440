#include "objects/serving/payload.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/crypto.h"
#include "net/text.h"
#include "objects/wire/chunked.h"

namespace hekla::objects {
namespace {

constexpr std::uint64_t kLargestObject = std::uint64_t{5} << 30;  // of one PUT, as S3
constexpr std::uint64_t kLargestDocument = 2 << 20;

// The forms of x-amz-content-sha256.
struct Form {
  bool chunked = false, is_signed = false, trailer = false;
};

Outcome<Form> form_of(const std::string& stated) {
  if (stated == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") return Form{true, true, false};
  if (stated == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") return Form{true, true, true};
  if (stated == "STREAMING-UNSIGNED-PAYLOAD-TRAILER") return Form{true, false, true};
  if (stated == "UNSIGNED-PAYLOAD") return Form{};
  const bool hex = stated.size() == 64 && std::ranges::all_of(stated, [](char c) {
                     return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                   });
  if (hex) return Form{};
  return refuse("InvalidArgument",
                "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, "
                "STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
                "STREAMING-AWS4-HMAC-SHA256-PAYLOAD(-TRAILER), or a valid "
                "sha256 value.");
}

bool is_hash(const std::string& stated) { return stated.size() == 64; }

std::optional<std::uint64_t> announced(const net::Request& request, std::string_view header) {
  const std::string_view text = request.headers.get(header);
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A body as it comes. `sink` takes the payload; `end` is called once.
struct Reading {
  CallPtr call;
  std::optional<ChunkedPayload> chunked;
  std::uint64_t most = 0, taken = 0;
  std::move_only_function<Outcome<void>(std::string_view)> sink;
  std::move_only_function<void()> end;
  bool over = false;
  Outcome<void> failed = {};

  void refuse_with(const S3Error& error) {
    if (std::exchange(over, true)) return;
    sink = {};
    call->fail(error);
  }
  Outcome<void> take(std::string_view payload) {
    taken += payload.size();
    if (taken > most) return refuse("EntityTooLarge");
    return sink(payload);
  }
  Outcome<void> data(std::string_view bytes) {
    if (!chunked) return take(bytes);
    TRY(chunked->add(bytes, [this](std::string_view payload) {
      if (failed) failed = take(payload);
    }));
    return failed;
  }
  Outcome<void> finish() {
    if (chunked) TRY(chunked->end());
    const std::optional<std::uint64_t> length =
        announced(call->request, "x-amz-decoded-content-length");
    if (chunked && length && *length != taken) return refuse("IncompleteBody");
    return {};
  }
  void ended(const Result<void>& came) {
    if (over) return;
    if (!came) return refuse_with(s3_error("IncompleteBody", came.error().message));
    if (Outcome<void> whole = finish(); !whole) return refuse_with(whole.error());
    over = true;
    end();
  }
};

Outcome<std::shared_ptr<Reading>> prepare(const CallPtr& call, std::uint64_t most) {
  const Form form = TRY(form_of(call->payload_hash));
  if (form.is_signed && !call->signing) return refuse("AccessDenied");
  auto reading = std::make_shared<Reading>();
  reading->call = call;
  reading->most = most;
  if (form.chunked)
    reading->chunked.emplace(form.is_signed ? call->signing : std::nullopt, form.trailer);
  const std::optional<std::uint64_t> length =
      announced(call->request, form.chunked ? "x-amz-decoded-content-length" : "content-length");
  if (length && *length > most) return refuse("EntityTooLarge");
  return reading;
}

void start(const std::shared_ptr<Reading>& reading) {
  reading->call->writer->read_body({
      .on_data =
          [reading](std::string_view bytes) {
            if (reading->over) return;
            if (Outcome<void> taken = reading->data(bytes); !taken)
              reading->refuse_with(taken.error());
          },
      .on_end = [reading](Result<void> came) { reading->ended(came); },
  });
}

// Checksums named by headers, by the trailer's announcement, or by the algorithm that is asked for.
Outcome<std::vector<ChecksumKind>> wanted_checksums(const Call& call) {
  std::vector<ChecksumKind> kinds;
  auto add = [&](ChecksumKind kind) {
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const auto& [name, value] : call.request.headers.all()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), net::to_lower);
    if (std::optional<ChecksumKind> kind = checksum_of_header(lower)) {
      if (!is_checksum(*kind, value))
        return refuse("InvalidRequest", "Value for " + lower + " header is invalid.");
      add(*kind);
    }
    if (lower == "x-amz-trailer")
      net::for_each_element(value, [&](std::string_view element) {
        if (std::optional<ChecksumKind> kind = checksum_of_header(element)) add(*kind);
      });
    if (lower == "x-amz-sdk-checksum-algorithm" || lower == "x-amz-checksum-algorithm") {
      std::optional<ChecksumKind> kind = checksum_kind(value);
      if (!kind) return refuse("InvalidRequest", "The checksum algorithm is not known: " + value);
      add(*kind);
    }
  }
  return kinds;
}

// Compares the body with the client's word: Content-MD5, x-amz-content-sha256, checksums.
Outcome<void> verify_body(const Call& call, const Spool& spool,
                          const std::map<std::string, std::string>& trailers) {
  if (is_hash(call.payload_hash) && spool.sha256_hex() != call.payload_hash)
    return refuse("XAmzContentSHA256Mismatch");
  if (std::string_view stated = call.request.headers.get("content-md5"); !stated.empty()) {
    std::optional<std::string> raw = base64_decode(stated);
    if (!raw || raw->size() != 16) return refuse("InvalidDigest");
    if (*raw != spool.md5()) return refuse("BadDigest");
  }
  for (ChecksumKind kind : TRY(wanted_checksums(call))) {
    const std::string name(checksum_header(kind));
    std::string stated(call.request.headers.get(name));
    if (auto trailer = trailers.find(name); trailer != trailers.end()) stated = trailer->second;
    if (!stated.empty() && spool.checksum(kind) != stated)
      return refuse("BadDigest", "The " + std::string(checksum_name(kind)) +
                                     " you specified did not match the calculated checksum.");
  }
  return {};
}

}  // namespace

void read_object(const CallPtr& call, std::move_only_function<void(std::shared_ptr<Spool>)> next) {
  Outcome<std::shared_ptr<Reading>> reading = prepare(call, kLargestObject);
  if (!reading) return call->fail(reading.error());
  Outcome<std::vector<ChecksumKind>> kinds = wanted_checksums(*call);
  if (!kinds) return call->fail(kinds.error());
  std::shared_ptr<Spool> spool = call->store.content().spool();
  for (ChecksumKind kind : *kinds) spool->compute(kind);
  (*reading)->sink = [spool](std::string_view payload) -> Outcome<void> {
    if (Result<void> added = spool->add(payload); !added)
      return std::unexpected(from_internal(added.error()));
    return {};
  };
  (*reading)->end = [call, spool, next = std::move(next), reading = reading->get()]() mutable {
    spool->finish();
    const std::map<std::string, std::string> none;
    if (Outcome<void> right =
            verify_body(*call, *spool, reading->chunked ? reading->chunked->trailers() : none);
        !right)
      return call->fail(right.error());
    next(std::move(spool));
  };
  start(*reading);
}

void read_document(const CallPtr& call, std::move_only_function<void(std::string)> next) {
  Outcome<std::shared_ptr<Reading>> reading = prepare(call, kLargestDocument);
  if (!reading) return call->fail(reading.error());
  auto body = std::make_shared<std::string>();
  (*reading)->sink = [body](std::string_view payload) -> Outcome<void> {
    *body += payload;
    return {};
  };
  (*reading)->end = [call, body, next = std::move(next)]() mutable {
    if (is_hash(call->payload_hash) && sha256_hex(*body) != call->payload_hash)
      return call->fail(s3_error("XAmzContentSHA256Mismatch"));
    next(std::move(*body));
  };
  start(*reading);
}

std::map<std::string, std::string> body_checksums(const Call& call, const Spool& spool) {
  std::map<std::string, std::string> checksums;
  Outcome<std::vector<ChecksumKind>> kinds = wanted_checksums(call);
  if (!kinds) return checksums;
  for (ChecksumKind kind : *kinds)
    if (std::optional<std::string> value = spool.checksum(kind))
      checksums[std::string(checksum_header(kind))] = *value;
  return checksums;
}

}  // namespace hekla::objects
