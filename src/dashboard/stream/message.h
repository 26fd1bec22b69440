// The stream's messages as values: JSON text of a WebSocket in, JSON text out. Pure.
//
// From the page:  {"op":"subscribe","id":1,"resource":"batch/v1/jobs","namespace":"a",
//                  "labelSelector":"","fieldSelector":"","cursor":"17"}
//                 {"op":"subscribe","id":2,"topic":"runs","parameters":{},"cursor":""}
//                 {"op":"unsubscribe","id":1}
// To the page:    {"id":1,"type":"snapshot","items":[...],"more":true}   pieces of one snapshot
//                 {"id":1,"type":"snapshot","items":[...],"cursor":"18"} the last of them
//                 {"id":1,"type":"changes","changes":[["A",{...}],["D",{...}]],"cursor":"19"}
//                 {"id":1,"type":"expired"}           the cursor is too old: a snapshot follows
//                 {"id":1,"type":"refused","code":403,"reason":"Forbidden","message":"..."}
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client.h"

namespace hekla::dashboard {

struct StreamRequest {
  enum class Op { subscribe, unsubscribe } op = Op::subscribe;
  std::int64_t id = 0;
  kube::Resource resource;  // or a topic
  std::string topic;
  std::map<std::string, std::string> parameters;
  std::string ns, label_selector, field_selector, cursor;
};

Result<StreamRequest> parse_stream_request(std::string_view text);

// An object as the page gets it: without metadata.managedFields and the annotation of kubectl's
// apply, which nobody looks at and which are half of the bytes.
std::string page_object(std::string_view json);

// Appends to a message until it is long enough to be sent.
class MessageWriter {
 public:
  MessageWriter(std::int64_t id, std::string_view type, std::string_view list);
  void add(std::string_view item);
  void add_change(char type, std::string_view item);
  std::size_t size() const { return text_.size(); }
  bool empty() const { return count_ == 0; }
  // `rest` is what follows the list: "more":true or the cursor.
  std::string finish_with_more() &&;
  std::string finish_with_cursor(std::string_view cursor) &&;

 private:
  std::string text_;
  std::size_t count_ = 0;
};

std::string expired_message(std::int64_t id);
std::string refused_message(std::int64_t id, const Error& error);

}  // namespace hekla::dashboard
