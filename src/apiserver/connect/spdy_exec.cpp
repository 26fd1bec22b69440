// Exec and attach over SPDY: one stream each for error, stdin, stdout, stderr and resize, opened by
// the client. The process begins when all of them are there.
#include <map>
#include <mutex>

#include "apiserver/connect/connect.h"
#include "net/spdy.h"

namespace hekla::apiserver {

namespace {

constexpr std::chrono::seconds kStreamTimeout{30};
constexpr std::size_t kMaxResizeLine = 1024;

class SpdyExec final : public kube::ProcessClient, public std::enable_shared_from_this<SpdyExec> {
 public:
  SpdyExec(std::shared_ptr<net::ResponseWriter> writer, bool text_status,
           std::shared_ptr<kube::PodProcess> process, const kube::ExecOptions& options)
      : writer_(std::move(writer)), text_status_(text_status), process_(std::move(process)) {
    missing_ = {"error"};
    if (options.in) missing_.emplace_back("stdin");
    if (options.out) missing_.emplace_back("stdout");
    if (options.err) missing_.emplace_back("stderr");
  }

  void open(net::Headers answer, Executor& loop) {
    writer_->on_closed([process = process_] { process->leave(); });
    writer_->upgrade(std::move(answer),
                     [self = shared_from_this()](std::string_view bytes) { self->receive(bytes); });
    loop.post_after(kStreamTimeout, [weak = weak_from_this()] {
      if (auto self = weak.lock(); self && !self->begun_) self->writer_->abort();
    });
  }

  void write(Output which, std::string bytes) override {
    send(which == Output::out ? "stdout" : "stderr", bytes, false);
  }
  void finish(Result<int> exit_code) override {
    send("stdout", "", true);
    send("stderr", "", true);
    send("error", exec_status(exit_code, text_status_), true);
    writer_->end();
  }
  bool is_closed() const override { return writer_->is_closed(); }
  std::size_t pending_bytes() const override { return writer_->pending_bytes(); }
  void hold_input(bool hold) override { writer_->pause_input(hold); }

 private:
  void send(const std::string& type, std::string_view bytes, bool fin) {
    std::uint32_t stream = 0;
    {
      std::lock_guard lock(mutex_);
      auto found = streams_.find(type);
      if (found == streams_.end()) return;
      stream = found->second;
    }
    writer_->write(net::SpdyWriter::data(stream, bytes, fin));
  }

  void receive(std::string_view bytes) {
    std::vector<net::SpdyEvent> events;
    Result<void> read = reader_.feed(bytes, events);
    for (net::SpdyEvent& event : events) on_event(event);
    if (read) return;
    process_->leave();
    writer_->abort();
  }
  void on_event(net::SpdyEvent& event) {
    using Kind = net::SpdyEvent::Kind;
    if (event.kind == Kind::ping) return writer_->write(net::SpdyWriter::ping(event.id));
    if (event.kind == Kind::refused_stream) return writer_->write(refusal(event));
    if (event.kind == Kind::stream) on_stream(event);
    if (event.kind == Kind::data && event.id == input_ && !event.data.empty())
      process_->write_input(std::move(event.data));
    if (event.kind == Kind::data && event.id == resize_) on_resize(event.data);
    bool over = event.fin || event.kind == Kind::reset;
    if (over && event.id == input_ && input_ != 0) process_->end_input();
  }
  static std::string refusal(const net::SpdyEvent& event) {
    return net::SpdyWriter::reset(event.id, net::SpdyWriter::kProtocolError);
  }
  void on_stream(const net::SpdyEvent& event) {
    static constexpr std::string_view kTypes[]{"error", "stdin", "stdout", "stderr", "resize"};
    std::string type(event.headers.get("streamtype"));
    if (std::ranges::find(kTypes, type) == std::end(kTypes)) return writer_->write(refusal(event));
    {
      std::lock_guard lock(mutex_);
      streams_.try_emplace(type, event.id);
    }
    if (type == "stdin") input_ = event.id;
    if (type == "resize") resize_ = event.id;
    writer_->write(frames_.syn_reply(event.id));
    std::erase(missing_, type);
    if (missing_.empty() && !begun_.exchange(true)) process_->begin(shared_from_this());
  }
  // One object per line.
  void on_resize(std::string_view data) {
    resize_text_ += data;
    for (std::size_t end; (end = resize_text_.find('\n')) != std::string::npos;) {
      resize_process(*process_, std::string_view(resize_text_).substr(0, end));
      resize_text_.erase(0, end + 1);
    }
    if (resize_text_.size() > kMaxResizeLine) resize_text_.clear();
  }

  std::shared_ptr<net::ResponseWriter> writer_;
  const bool text_status_;
  std::shared_ptr<kube::PodProcess> process_;
  net::SpdyReader reader_;
  net::SpdyWriter frames_;
  std::vector<std::string> missing_;
  std::atomic<bool> begun_ = false;
  std::uint32_t input_ = 0, resize_ = 0;
  std::string resize_text_;
  std::mutex mutex_;
  std::map<std::string, std::uint32_t> streams_;
};

}  // namespace

void run_spdy_exec(const ExchangePtr& exchange, net::Headers answer, bool text_status,
                   const kube::ExecOptions& options, std::shared_ptr<kube::PodProcess> process) {
  std::make_shared<SpdyExec>(exchange->writer, text_status, std::move(process), options)
      ->open(std::move(answer), *exchange->serving.loop);
}

}  // namespace hekla::apiserver
