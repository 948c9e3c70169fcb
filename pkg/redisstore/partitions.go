package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// agree holds the programs to one number of partitions: with another one each would sell the
// same voucher from keys of its own. The first program writes it down, also where a Redis has
// lost it. A node that does not have the key has no say.
func (s *Store) agree(ctx context.Context, c redis.Cmdable) error {
	n := strconv.Itoa(s.keys.partitions)
	was, err := c.Get(ctx, partitions).Result()
	if errors.Is(err, redis.Nil) {
		if err = c.SetNX(ctx, partitions, n, 0).Err(); err == nil {
			was, err = c.Get(ctx, partitions).Result()
		}
	}
	switch {
	case elsewhere(err):
		return nil
	case err != nil:
		return err
	case was != n:
		return &seckill.Error{Op: "redisstore.Open", Code: seckill.Invalid, Err: fmt.Errorf(
			"SECKILL_PARTITIONS is %s, and the keys in this Redis were made with %s. Every program needs the same number. "+
				"To change it, stop all of them once no order waits, delete the keys seckill:* and icr:order:*, and start them with the new one: the database has what is sold", n, was)}
	default:
		return nil
	}
}

// settleOn is agree for a Redis that may have been used before anything was written down: it
// refuses keys that another number of partitions would have made.
func (s *Store) settleOn(ctx context.Context, c redis.UniversalClient) error {
	const op, page = "redisstore.Open", 1000
	found, err := c.Exists(ctx, partitions).Result()
	if err != nil {
		return fault(op, err)
	}
	if found == 0 {
		err = eachMaster(ctx, c, func(ctx context.Context, node *redis.Client) error {
			return scan(op, func(cursor uint64) ([]string, uint64, error) {
				return node.Scan(ctx, cursor, "seckill:*", page).Result()
			}, s.keys.fit)
		})
		if err != nil {
			return err
		}
	}
	if err = s.agree(ctx, c); seckill.CodeOf(err) == seckill.Invalid {
		return err
	}
	return fault(op, err)
}

// fit refuses names that this number of partitions does not make. Names that none makes are
// somebody else's.
func (k keys) fit(names []string) error {
	for _, name := range names {
		if what, rest, _ := strings.Cut(strings.TrimPrefix(name, "seckill:"), ":"); !k.makes(name, what, rest) {
			return &seckill.Error{Op: "redisstore.Open", Code: seckill.Invalid, Err: fmt.Errorf(
				"SECKILL_PARTITIONS is %d, and the key %s in this Redis was made with another number", k.partitions, name)}
		}
	}
	return nil
}

func (k keys) makes(name, what, rest string) bool {
	switch what {
	case "voucher", "stock", "order", "ticket":
		v, err := seckill.ParseVoucherID(rest[strings.LastIndex(rest, ":")+1:])
		return err != nil || name == k.of(what, v)
	case "stream", "dead", "events", "replays", "tries", "server":
		p, err := strconv.Atoi(strings.Trim(rest, "{}"))
		return rest == "" && k.partitions == 0 || err == nil && p < k.partitions
	default:
		return true
	}
}

// eachMaster runs fn with a client of each server that takes writes, some at a time.
func eachMaster(ctx context.Context, c redis.UniversalClient, fn func(ctx context.Context, node *redis.Client) error) error {
	var mu sync.Mutex
	var errs []error
	note := func(ctx context.Context, node *redis.Client) error {
		if err := fn(ctx, node); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
		return nil
	}
	switch c := c.(type) {
	case *redis.Client:
		return fn(ctx, c)
	case *redis.ClusterClient:
		if err := c.ForEachMaster(ctx, note); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}
