#include "net/forward.h"

#include <array>
#include <atomic>
#include <charconv>
#include <mutex>

#include "base/check.h"
#include "net/text.h"
#include "net/wire/http_format.h"

namespace hekla::net {
namespace {

// Of one direction, before its sender is held. Twice a read, so that one piece waits while another
// is being sent.
constexpr std::size_t kMaxPending = 128 * 1024;

constexpr std::array<std::string_view, 10> kHopByHop{"Connection",
                                                     "Keep-Alive",
                                                     "Proxy-Authenticate",
                                                     "Proxy-Authorization",
                                                     "TE",
                                                     "Proxy-Connection",
                                                     "Trailer",
                                                     "Upgrade",
                                                     "Transfer-Encoding",
                                                     "Content-Length"};

bool wants_upgrade(const Headers& headers) {
  if (!headers.has("Upgrade")) return false;
  bool named = false;
  for (std::string_view value : headers.get_all("Connection"))
    named = named || list_contains(value, "upgrade");
  return named;
}

// Announced by an answer; the client has checked it where a body follows.
std::optional<std::uint64_t> announced_bytes(const Headers& headers) {
  const std::string_view text = headers.get("Content-Length");
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return bytes;
}

// One request under way. The requesting side calls on its connection's thread, the other on the
// client's; where those are one, the lock is never waited for.
class Passage final : public std::enable_shared_from_this<Passage> {
 public:
  Passage(std::shared_ptr<ResponseWriter> writer, Forwarding forwarding)
      : writer_(std::move(writer)), how_(std::move(forwarding)) {}
  ~Passage() {
    if (how_.on_over) how_.on_over();
  }

  void start(const Request& request, Client& client) {
    ClientRequest upstream = std::move(how_.upstream);
    prepare(request, upstream);
    writer_->on_closed([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->cancel();
    });
    writer_->on_drained([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->hold_answer(false);
    });
    std::shared_ptr<StreamHandle> handle = client.stream(std::move(upstream), callbacks());
    {
      std::lock_guard lock(mutex_);
      if (over_) return;  // and the handle cancels what may still be under way
      handle_ = std::move(handle);
    }
    if (writer_->is_closed()) return cancel();
    if (!request.body_streamed) return;
    writer_->read_body({
        .on_data = [self = shared_from_this()](std::string_view data) { self->send(data); },
        .on_trailers = [self = shared_from_this()](
                           const Headers& trailers) { self->body_trailers_ = trailers; },
        .on_end = [self = shared_from_this()](Result<void> end) { self->end_body(end); },
    });
  }

 private:
  void prepare(const Request& request, ClientRequest& upstream) {
    if (upstream.method.empty()) upstream.method = request.method;
    if (request.body_streamed)
      upstream.streamed_body = StreamedBody{request.body_bytes};
    else
      upstream.body = request.body;
    upgrade_wanted_ =
        how_.allow_upgrade && !request.body_streamed && wants_upgrade(request.headers);
    for (std::string_view name : {"Connection", "Upgrade", "Expect"}) upstream.headers.remove(name);
    if (!upgrade_wanted_) return;
    upstream.headers.set("Connection", "Upgrade");
    upstream.headers.set("Upgrade", std::string(request.headers.get("Upgrade")));
  }

  StreamCallbacks callbacks() {
    const auto self = shared_from_this();
    StreamCallbacks callbacks;
    callbacks.on_interim = [self](int status, const Headers& headers) {
      if (status != 100) self->writer_->inform(status, end_to_end_headers(headers));
    };
    callbacks.on_head = [self](int status, const Headers& headers) {
      self->on_head(status, headers);
    };
    callbacks.on_data = [self](std::string_view data) { self->on_data(data); };
    callbacks.on_trailers = [self](const Headers& trailers) { self->answer_trailers_ = trailers; };
    callbacks.on_server_end = [self] { self->writer_->end(); };
    callbacks.on_drained = [self] { self->writer_->pause_input(false); };
    callbacks.on_end = [self](Result<void> outcome) { self->on_end(std::move(outcome)); };
    return callbacks;
  }

  // From the requesting side to the other.
  void send(std::string_view data) {
    const std::shared_ptr<StreamHandle> handle = current();
    if (!handle) return;
    show(data, true);
    handle->write(std::string(data));
    if (handle->pending_bytes() < kMaxPending) return;
    writer_->pause_input(true);
    // A queue that has drained meanwhile will not say so again.
    if (handle->pending_bytes() == 0) writer_->pause_input(false);
  }
  void end_body(const Result<void>& outcome) {
    if (!outcome) return cancel();
    if (const std::shared_ptr<StreamHandle> handle = current()) handle->end_with(body_trailers_);
  }

  // And back.
  void on_head(int status, const Headers& headers) {
    begun_ = true;
    Headers answer = end_to_end_headers(headers);
    if (status == 101) return open_tunnel(headers, std::move(answer));
    if (how_.on_head) how_.on_head(status, answer);
    if (const std::optional<std::uint64_t> bytes = announced_bytes(headers))
      writer_->begin_sized(status, std::move(answer), *bytes);
    else
      writer_->begin(status, std::move(answer));
  }
  void open_tunnel(const Headers& headers, Headers answer) {
    if (!upgrade_wanted_) {  // nobody has asked for it: what follows is no HTTP
      writer_->abort();
      return cancel();
    }
    if (how_.on_head) how_.on_head(101, answer);
    if (headers.has("Upgrade")) answer.set("Upgrade", std::string(headers.get("Upgrade")));
    writer_->tunnel(
        std::move(answer),
        {.on_data = [self = shared_from_this()](std::string_view data) { self->send(data); },
         .on_end = [self = shared_from_this()](Result<void> outcome) { self->end_body(outcome); }});
  }
  void on_data(std::string_view data) {
    show(data, false);
    writer_->write(std::string(data));
    if (writer_->pending_bytes() < kMaxPending) return;
    hold_answer(true);
    if (writer_->pending_bytes() == 0) hold_answer(false);
  }
  void on_end(Result<void> outcome) {
    if (outcome)
      writer_->end_with(answer_trailers_);
    else if (!begun_)
      writer_->respond(failure(outcome.error()));
    else
      writer_->abort();
    cancel();
  }
  Response failure(const Error& error) {
    if (how_.on_failure) return how_.on_failure(error);
    return status_response({error.code == Code::timeout ? 504 : 502, "the server did not answer"});
  }

  void show(std::string_view data, bool from_requester) {
    if (how_.on_passing) how_.on_passing(data, from_requester);
  }
  std::shared_ptr<StreamHandle> current() {
    std::lock_guard lock(mutex_);
    return handle_;
  }
  void hold_answer(bool hold) {
    if (const std::shared_ptr<StreamHandle> handle = current()) handle->hold(hold);
  }
  void cancel() {
    std::shared_ptr<StreamHandle> dropped;
    std::lock_guard lock(mutex_);
    over_ = true;
    dropped.swap(handle_);
  }

  const std::shared_ptr<ResponseWriter> writer_;
  Forwarding how_;
  bool upgrade_wanted_ = false;
  std::atomic<bool> begun_ = false;
  Headers body_trailers_;    // on the requesting side's thread
  Headers answer_trailers_;  // on the client's
  std::mutex mutex_;
  std::shared_ptr<StreamHandle> handle_;
  bool over_ = false;
};

}  // namespace

void forward(const Request& request, std::shared_ptr<ResponseWriter> writer, Client& client,
             Forwarding forwarding) {
  CHECK(writer != nullptr, "somebody waits for the answer");
  std::make_shared<Passage>(std::move(writer), std::move(forwarding))->start(request, client);
}

Headers end_to_end_headers(const Headers& headers) {
  std::vector<std::string_view> named;
  for (std::string_view value : headers.get_all("Connection"))
    for_each_element(value, [&](std::string_view name) { named.push_back(name); });
  const auto is_of_one_connection = [&](std::string_view name) {
    const auto same = [&](std::string_view other) { return equal_ignoring_case(name, other); };
    return std::ranges::any_of(kHopByHop, same) || std::ranges::any_of(named, same);
  };
  Headers kept;
  for (const auto& [name, value] : headers.all())
    if (!is_of_one_connection(name)) kept.add(name, value);
  return kept;
}

}  // namespace hekla::net
