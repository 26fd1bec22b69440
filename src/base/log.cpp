#include "base/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <mutex>

#include "base/log_ring.h"

namespace hekla {
namespace {

// Standard error, or whoever wants the lines instead.
class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set_writer(std::function<void(std::string_view)> writer) {
    std::lock_guard lock(mutex_);
    writer_ = std::move(writer);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    if (!writer_) {
      std::fwrite(text.data(), 1, text.size(), stderr);
      return;
    }
    std::string_view line(text.data(), text.size());
    while (line.ends_with('\n')) line.remove_suffix(1);
    writer_(line);
  }
  void flush_() override { std::fflush(stderr); }

 private:
  std::function<void(std::string_view)> writer_;
};

LineSink& sink() {
  static const auto instance = std::make_shared<LineSink>();
  return *instance;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    // The sink lives as long as the process, whoever else holds it.
    auto made = std::make_shared<spdlog::logger>(
        "hekla", std::shared_ptr<spdlog::sinks::sink>(&sink(), [](spdlog::sinks::sink*) {}));
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->set_level(spdlog::level::info);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

LogCapture& capture() {
  static LogCapture instance;
  return instance;
}

bool is_captured(LogLevel level) { return level != LogLevel::debug && capture(); }

bool needs_quotes(std::string_view text) {
  return text.empty() || text.find_first_of(" \t\n\"=") != std::string_view::npos;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(level_of(level)); }

void set_log_writer(std::function<void(std::string_view)> writer) {
  sink().set_writer(std::move(writer));
}

void set_log_capture(LogCapture next) { capture() = std::move(next); }

bool log_enabled(LogLevel level) { return logger().should_log(level_of(level)); }

void log(LogLevel level, std::string_view component, std::string_view message,
         std::initializer_list<LogField> fields) {
  if (!log_enabled(level) && !is_captured(level)) return;
  std::string line;
  line.append(component).append(": ").append(message);
  for (const auto& [key, value] : fields) {
    line.append(" ").append(key).append("=");
    if (!needs_quotes(value)) {
      line.append(value);
      continue;
    }
    line += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') line += '\\';
      if (c == '\n')
        line += "\\n";
      else
        line += c;
    }
    line += '"';
  }
  if (is_captured(level)) {
    auto name = spdlog::level::to_string_view(level_of(level));
    capture()(component, std::string(name.data(), name.size()) + " " + line);
  }
  if (log_enabled(level)) logger().log(level_of(level), "{}", line);
}

}  // namespace hekla
