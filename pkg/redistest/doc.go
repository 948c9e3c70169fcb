// Package redistest starts private redis-server processes for tests, the demo and the
// benchmarks. It owns their processes, sockets and directories, and a text form of a whole
// keyspace. It imports go-redis and nothing of ours.
package redistest
