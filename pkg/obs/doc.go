// Package obs is what an operator sees: logs, metrics, health and profiles. It owns the
// names, units and buckets of every metric. It imports package seckill, and nothing else
// of ours.
package obs
