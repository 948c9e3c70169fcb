// Package sqltest starts private database servers for tests, the demo and the
// measurements: real ones, each in a directory of its own, none of them the machine's.
// It imports nothing of ours.
package sqltest
