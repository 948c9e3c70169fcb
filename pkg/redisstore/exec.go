package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// exec runs a pipeline whose commands are asked for their own errors. Its error is one that
// none of them has: where the server refused the connection itself, because it loads or the
// password is wrong, go-redis leaves the commands as if they had succeeded with nothing.
func exec(ctx context.Context, p redis.Pipeliner) error {
	cmds, err := p.Exec(ctx)
	if err == nil || slices.ContainsFunc(cmds, func(c redis.Cmder) bool { return c.Err() != nil }) {
		return nil
	}
	return err
}
