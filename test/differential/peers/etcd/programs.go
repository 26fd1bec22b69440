//go:build programs

// Package programs pins what build_peers compiles.
package programs

import _ "go.etcd.io/etcd/server/v3"
