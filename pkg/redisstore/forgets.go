package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Forgets says which accepted orders Redis may forget when it or its machine dies, by the
// settings that it had at Open; "" where none, or where it does not tell.
func (s *Store) Forgets() string { return s.forgets }

func forgets(ctx context.Context, c redis.UniversalClient, info string) string {
	if infoField(info, "aof_enabled") == "" {
		return ""
	}
	// A server that is rented may refuse to tell its settings.
	settings := c.ConfigGet(ctx, "appendfsync").Val()
	switch {
	case infoField(info, "aof_enabled") != "1":
		return "all that are not stored yet, or that its last snapshot has not: appendonly is no"
	case settings["appendfsync"] == "everysec":
		return "those of the last second: appendfsync is everysec"
	case settings["appendfsync"] == "no":
		return "those that the system has not written yet: appendfsync is no"
	default:
		return ""
	}
}
