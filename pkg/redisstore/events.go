package redisstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	eventsKept  = 10_000 // newest events that stay while no group reads them
	eventsBatch = 128    // events in one transaction: Redis serves nobody else meanwhile
)

// PublishEvents adds events to the streams of their vouchers, in their order. With an error
// some may have been added; all of an order that come after one that was not, were not.
func (s *Store) PublishEvents(ctx context.Context, events []seckill.Event) error {
	parts := make(map[int][]seckill.Event)
	for _, e := range events {
		p := s.keys.partition(e.Voucher)
		parts[p] = append(parts[p], e)
	}
	for p, part := range parts {
		for some := range slices.Chunk(part, eventsBatch) {
			// All or none: were only one refused, those after it would come before it.
			_, err := s.db.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				for _, e := range some {
					pipe.XAdd(ctx, &redis.XAddArgs{Stream: s.keys.events(p), Values: eventFields(e)})
				}
				return nil
			})
			if err != nil {
				return fault("redisstore.PublishEvents", err)
			}
		}
	}
	return nil
}

func eventFields(e seckill.Event) []string {
	fields := []string{
		"event", e.ID, "orderId", e.Order.String(), "userId", e.User.String(), "voucherId", e.Voucher.String(),
		"status", string(e.Status), "at", strconv.FormatInt(e.At.UnixMilli(), 10),
	}
	if e.Reason != "" {
		fields = append(fields, "reason", string(e.Reason))
	}
	return fields
}

// TrimEvents drops the events that every group has read and acknowledged; where there is no
// group, all but the newest 10,000. It returns how many are left. A group that nobody reads
// by any more keeps everything: it has to be destroyed.
func (s *Store) TrimEvents(ctx context.Context) (left int64, err error) {
	const op = "redisstore.TrimEvents"
	for p := range s.Partitions() {
		key := s.keys.events(p)
		if err := lua.Trim.Run(ctx, s.db, []string{key}, eventsKept).Err(); err != nil {
			return 0, fault(op, err)
		}
		n, err := s.db.XLen(ctx, key).Result()
		if err != nil {
			return 0, fault(op, err)
		}
		left += n
	}
	return left, nil
}
