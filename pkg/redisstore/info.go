package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// StreamInfo tells the state of partition p's stream. A stream that is missing is empty,
// and without the group no worker has read anything. The lag is often unknown while several
// batches are in hand: Redis cannot tell it while entries wait and the newest one that was
// read was settled before an older one, or after entries were deleted that nobody had read.
func (s *Store) StreamInfo(ctx context.Context, p int) (info seckill.StreamInfo, err error) {
	const op = "redisstore.StreamInfo"
	key := s.keys.stream(p)
	node, err := s.nodeOf(ctx, key) // whose clock made the ids of the entries
	if err != nil {
		return info, fault(op, err)
	}
	pipe := node.Pipeline()
	length, groups := pipe.XLen(ctx, key), pipe.XInfoGroups(ctx, key)
	consumers, first := pipe.XInfoConsumers(ctx, key, group), pipe.XRangeN(ctx, key, "-", "+", 1)
	now, dead := pipe.Time(ctx), pipe.XLen(ctx, s.keys.dead(p))
	err = errors.Join(exec(ctx, pipe), length.Err(), first.Err(), now.Err(), dead.Err(), unlessMissing(groups.Err()), unlessMissing(consumers.Err()))
	if err != nil {
		return info, fault(op, err)
	}
	info.Length, info.Lag, info.Buried = length.Val(), length.Val(), dead.Val()
	for _, g := range groups.Val() {
		if g.Name == group {
			info.Pending, info.Lag = g.Pending, g.Lag // -1 where the server said nil
		}
	}
	for _, c := range consumers.Val() {
		info.Consumers = append(info.Consumers, seckill.Consumer{Name: c.Name, Pending: c.Pending, Idle: c.Idle})
	}
	for _, m := range first.Val() {
		info.Oldest = max(0, now.Val().Sub(entryTime(m.ID)))
	}
	return info, nil
}

// InHand tells how many entries of a voucher's stream a worker has read and not settled, and
// how many messages are buried; both count those of other vouchers in the same partition.
func (s *Store) InHand(ctx context.Context, v seckill.VoucherID) (pending, buried int64, err error) {
	p, pipe := s.keys.partition(v), s.db.Pipeline()
	groups, dead := pipe.XInfoGroups(ctx, s.keys.stream(p)), pipe.XLen(ctx, s.keys.dead(p))
	err = exec(ctx, pipe)
	for _, g := range groups.Val() {
		if g.Name == group {
			pending = g.Pending
		}
	}
	return pending, dead.Val(), fault("redisstore.InHand", errors.Join(err, unlessMissing(groups.Err()), dead.Err()))
}

// unlessMissing drops the error by which XINFO says that there is no such stream or group.
func unlessMissing(err error) error {
	if hasPrefix(err, "ERR no such key") || hasPrefix(err, "NOGROUP") {
		return nil
	}
	return err
}

// entryTime is when Redis made an entry, which its id says in ms.
func entryTime(entry string) time.Time {
	ms, _, _ := strings.Cut(entry, "-")
	n, _ := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n).UTC()
}
