// Pages, sort orders and filters over one table.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "net/http.h"
#include "records/database.h"

namespace hekla::pipelines::api {

struct ListedField {
  std::string_view name;    // in sort_by and filters
  std::string_view column;  // of the table
  bool time = false;        // milliseconds in the column
  // A filter's text as the column has it, where the API's version spells it otherwise.
  std::string (*stored)(const std::string& text) = nullptr;
};

struct Listing {
  std::string_view table, columns;  // what row_of reads
  std::vector<ListedField> fields;
  std::string_view member;  // of the answer: "runs"
  bool has_tags = false;
  // Further conditions that the path or the query brings: "pipeline_id = ?".
  std::vector<std::pair<std::string, std::string>> where = {};
  std::function<Result<json::Value>(const records::Statement&)> row_of;
};

// The state that a filter names as it is stored, whichever version of the API spells it: AVAILABLE
// for STORAGESTATE_AVAILABLE, SUCCEEDED for Succeeded.
std::string stored_state(const std::string& text);

// Reads page_token, page_size, sort_by and filter of the query. Errors are bad_request.
Result<json::Value> list(records::Database& database, const net::Query& query,
                         const Listing& listing);

}  // namespace hekla::pipelines::api
