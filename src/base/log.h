// Structured log lines on stderr: time, level, component, message, key=value pairs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace hekla {

enum class LogLevel { debug, info, warn, error };

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);

using LogField = std::pair<std::string_view, std::string>;

// Thread-safe. `component` is the module that speaks ("store", "scheduler").
void log(LogLevel level, std::string_view component, std::string_view message,
         std::initializer_list<LogField> fields = {});

inline void log_debug(std::string_view c, std::string_view m,
                      std::initializer_list<LogField> f = {}) {
  if (log_enabled(LogLevel::debug)) log(LogLevel::debug, c, m, f);
}
inline void log_info(std::string_view c, std::string_view m,
                     std::initializer_list<LogField> f = {}) {
  log(LogLevel::info, c, m, f);
}
inline void log_warn(std::string_view c, std::string_view m,
                     std::initializer_list<LogField> f = {}) {
  log(LogLevel::warn, c, m, f);
}
inline void log_error(std::string_view c, std::string_view m,
                      std::initializer_list<LogField> f = {}) {
  log(LogLevel::error, c, m, f);
}

}  // namespace hekla
