package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// confirmedTTL is for tidiness: the key is written for its replication, and never read.
const confirmedTTL = time.Minute

// Confirm makes sure that as many replicas as an acceptance needs still follow the server of
// voucher v, so that what it says of an order may be the last word: a server that came back,
// before its sentinels made it follow its successor, is a master in its own eyes alone.
// Unavailable: too few took what it wrote. Where acceptances need none, nothing is asked.
func (s *Store) Confirm(ctx context.Context, v seckill.VoucherID) error {
	const op = "redisstore.Confirm"
	b := s.batches[s.keys.partition(v)]
	if b.replicas == 0 {
		return nil
	}
	node, err := s.master(ctx, v)
	if err != nil {
		return fault(op, err)
	}
	// A pipeline is one connection. The write is what a replica that left has not got.
	pipe := node.Pipeline()
	wrote := pipe.Set(ctx, s.keys.confirmed(b.p), v.String(), confirmedTTL)
	held := awaitReplicas(ctx, pipe, b.replicas, b.patience)
	if err := exec(ctx, pipe); err != nil {
		return fault(op, err)
	}
	return fault(op, errors.Join(wrote.Err(), enough(held, b.replicas)))
}

// awaitReplicas appends the wait for what was written before it.
func awaitReplicas(ctx context.Context, pipe redis.Pipeliner, replicas int, patience time.Duration) *redis.IntCmd {
	held := redis.NewIntCmd(ctx, "wait", replicas, patience.Milliseconds())
	_ = pipe.Process(ctx, held)
	return held
}

func enough(held *redis.IntCmd, replicas int) error {
	n, err := held.Result()
	if err == nil && n >= int64(replicas) {
		return nil
	}
	return errors.Join(fmt.Errorf("%w: %d of %d", errReplicas, n, replicas), err)
}
