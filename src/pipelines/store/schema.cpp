#include "pipelines/store/schema.h"

namespace hekla::pipelines::store {
namespace {

constexpr records::Migration kMigrations[] = {{1, R"(
CREATE TABLE experiments (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, namespace TEXT NOT NULL,
  created INTEGER NOT NULL, last_run INTEGER NOT NULL DEFAULT 0, storage TEXT NOT NULL,
  UNIQUE (namespace, name));
CREATE INDEX experiments_by_time ON experiments (created, id);

CREATE TABLE pipelines (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, display_name TEXT NOT NULL, description TEXT NOT NULL,
  namespace TEXT NOT NULL, created INTEGER NOT NULL, tags TEXT NOT NULL, UNIQUE (namespace, name));
CREATE INDEX pipelines_by_time ON pipelines (created, id);

CREATE TABLE versions (
  id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
  name TEXT NOT NULL, display_name TEXT NOT NULL, description TEXT NOT NULL,
  created INTEGER NOT NULL, code_source_url TEXT NOT NULL, package_url TEXT NOT NULL,
  tags TEXT NOT NULL, spec TEXT NOT NULL, UNIQUE (pipeline_id, name));
CREATE INDEX versions_by_time ON versions (pipeline_id, created, id);

CREATE TABLE runs (
  id TEXT PRIMARY KEY, experiment_id TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
  namespace TEXT NOT NULL, storage TEXT NOT NULL, service_account TEXT NOT NULL,
  resource_name TEXT NOT NULL, created INTEGER NOT NULL, scheduled INTEGER NOT NULL,
  finished INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL, error TEXT NOT NULL DEFAULT '',
  recurring_run_id TEXT NOT NULL DEFAULT '', pipeline_id TEXT NOT NULL, version_id TEXT NOT NULL,
  spec TEXT NOT NULL, parameters TEXT NOT NULL, pipeline_root TEXT NOT NULL,
  history TEXT NOT NULL, terminating INTEGER NOT NULL DEFAULT 0, open INTEGER NOT NULL);
CREATE INDEX runs_by_time ON runs (created, id);
CREATE INDEX runs_by_storage ON runs (storage, created, id);
CREATE INDEX runs_by_experiment ON runs (experiment_id, created, id);
CREATE INDEX runs_by_name ON runs (name, id);
CREATE INDEX runs_open ON runs (open) WHERE open = 1;

CREATE TABLE nodes (
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, node_id TEXT NOT NULL,
  body TEXT NOT NULL, PRIMARY KEY (run_id, node_id)) WITHOUT ROWID;

CREATE TABLE cache (
  fingerprint TEXT NOT NULL, pipeline TEXT NOT NULL, namespace TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, node_id TEXT NOT NULL,
  outputs TEXT NOT NULL, created INTEGER NOT NULL);
CREATE INDEX cache_by_fingerprint ON cache (fingerprint, pipeline, namespace, created);
CREATE INDEX cache_by_run ON cache (run_id);
)"},
                                              {2, R"(
CREATE TABLE recurring_runs (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, experiment_id TEXT NOT NULL,
  pipeline_id TEXT NOT NULL, version_id TEXT NOT NULL, spec TEXT NOT NULL, parameters TEXT NOT NULL,
  pipeline_root TEXT NOT NULL, service_account TEXT NOT NULL, max_concurrency INTEGER NOT NULL,
  schedule TEXT NOT NULL, no_catchup INTEGER NOT NULL, enabled INTEGER NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, last INTEGER NOT NULL DEFAULT 0,
  next INTEGER NOT NULL, number INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '');
CREATE INDEX recurring_runs_by_time ON recurring_runs (created, id);
CREATE INDEX recurring_runs_due ON recurring_runs (enabled, next);
CREATE INDEX runs_by_recurring ON runs (recurring_run_id, open);
)"},
                                              {3, R"(
ALTER TABLE runs ADD COLUMN queue TEXT NOT NULL DEFAULT '';
CREATE TABLE artifacts (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  node_id TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, type TEXT NOT NULL,
  uri TEXT NOT NULL, metadata TEXT NOT NULL, created INTEGER NOT NULL,
  UNIQUE (run_id, node_id, name, position));
CREATE INDEX artifacts_by_time ON artifacts (created, id);
CREATE INDEX artifacts_by_uri ON artifacts (uri);
INSERT INTO artifacts (run_id, node_id, name, position, type, uri, metadata, created)
  SELECT nodes.run_id, nodes.node_id, output.key, item.key,
    coalesce(json_extract(item.value, '$.type.schemaTitle'), ''),
    coalesce(json_extract(item.value, '$.uri'), ''),
    coalesce(json_extract(item.value, '$.metadata'), '{}'), runs.created
  FROM nodes JOIN runs ON runs.id = nodes.run_id, json_each(nodes.body, '$.outputs.artifacts') output,
    json_each(output.value) item
  WHERE json_extract(nodes.body, '$.state') = 'succeeded'
    AND json_extract(nodes.body, '$.kind') IN ('container', 'importer');
)"},
                                              {4, R"(
ALTER TABLE pipelines ADD COLUMN default_version TEXT NOT NULL DEFAULT '';
)"}};

}  // namespace

std::span<const records::Migration> migrations() { return kMigrations; }

std::int64_t to_millis(WallTime when) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}
WallTime from_millis(std::int64_t millis) { return WallTime(std::chrono::milliseconds(millis)); }

}  // namespace hekla::pipelines::store
