package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterIdle is how long a connection to a cluster's node may lie unused. A node can be a
// replica for a while and a master again, and only a new connection is met: see meet.
const clusterIdle = 5 * time.Second

// behave makes the client of a cluster do as every other client here does. By itself it runs
// a command again when a reply is lost, so that entries which a read was given would wait
// unseen, and it looks for another master only once a minute or when it is redirected, which
// a dead node does not do.
func behave(c redis.UniversalClient) redis.UniversalClient {
	if cluster, ok := c.(*redis.ClusterClient); ok {
		cluster.AddHook(oneTry{})
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(lookout{cluster}) })
	}
	return c
}

// oneTry lets a command run once. Redirects are followed all the same.
type oneTry struct{}

type once struct{ redis.Cmder }

func (once) NoRetry() bool { return true }

func (oneTry) DialHook(next redis.DialHook) redis.DialHook { return next }

func (oneTry) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return next(ctx, once{cmd}) }
}

func (oneTry) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		each := make([]redis.Cmder, len(cmds))
		for i, cmd := range cmds {
			each[i] = once{cmd}
		}
		return next(ctx, each)
	}
}

// lookout asks who serves what as soon as a node does not answer, or not as a master does.
type lookout struct{ cluster *redis.ClusterClient }

func (l lookout) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l lookout) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		l.note(ctx, err)
		return err
	}
}

func (l lookout) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		l.note(ctx, err)
		return err
	}
}

func (l lookout) note(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) || errors.Is(err, redis.ErrClosed) || errors.Is(err, context.Canceled) {
		return
	}
	var said redis.Error
	if !errors.As(err, &said) || refusedForNow(said) {
		l.cluster.ReloadState(ctx) // in its own time, however often it is asked for
	}
}

// lookAround asks who serves what, where that is a question.
func (s *Store) lookAround(ctx context.Context) {
	if cluster, ok := s.db.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}
