package redistest

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// everything is more than any test puts under one key.
const everything = 1 << 20

// Dump returns the whole keyspace as text, one entry for each key: type, content in an
// order that does not depend on history, and whether the key has a time to live, without
// its value. Of a stream it holds the entries, the last id, the groups, their consumers
// and what is pending. Two equal dumps mean that nothing was changed in between.
func Dump(t testing.TB, c redis.Cmdable) map[string]string {
	t.Helper()
	ctx := t.Context()
	keys, err := c.Keys(ctx, "*").Result()
	require.NoError(t, err)
	dump := make(map[string]string, len(keys))
	for _, k := range keys {
		text, err := dumpKey(ctx, c, k)
		require.NoError(t, err, "dump of %s", k)
		dump[k] = text
	}
	return dump
}

func dumpKey(ctx context.Context, c redis.Cmdable, key string) (string, error) {
	kind, err := c.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	ttl, err := c.PTTL(ctx, key).Result()
	if err != nil {
		return "", err
	}
	lines, err := content(ctx, c, kind, key)
	if err != nil {
		return "", err
	}
	if ttl > 0 {
		kind += " with ttl"
	}
	return strings.Join(append([]string{kind}, lines...), "\n"), nil
}

func content(ctx context.Context, c redis.Cmdable, kind, key string) ([]string, error) {
	switch kind {
	case "string":
		s, err := c.Get(ctx, key).Result()
		return quoted(s), err
	case "list":
		list, err := c.LRange(ctx, key, 0, -1).Result()
		return quoted(list...), err
	case "set":
		members, err := c.SMembers(ctx, key).Result()
		sort.Strings(members)
		return quoted(members...), err
	case "hash":
		fields, err := c.HGetAll(ctx, key).Result()
		lines := make([]string, 0, len(fields))
		for f, v := range fields {
			lines = append(lines, fmt.Sprintf("%q = %q", f, v))
		}
		sort.Strings(lines)
		return lines, err
	case "zset":
		members, err := c.ZRangeWithScores(ctx, key, 0, -1).Result()
		lines := make([]string, 0, len(members))
		for _, m := range members {
			lines = append(lines, fmt.Sprintf("%q = %v", m.Member, m.Score))
		}
		return lines, err
	case "stream":
		return streamContent(ctx, c, key)
	default:
		return nil, fmt.Errorf("type %q has no text form", kind)
	}
}

func quoted(ss ...string) []string {
	lines := make([]string, len(ss))
	for i, s := range ss {
		lines[i] = fmt.Sprintf("%q", s)
	}
	return lines
}

func streamContent(ctx context.Context, c redis.Cmdable, key string) ([]string, error) {
	info, err := c.XInfoStream(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	entries, err := c.XRange(ctx, key, "-", "+").Result()
	if err != nil {
		return nil, err
	}
	groups, err := c.XInfoGroups(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("last %s, deleted %s, added %d", info.LastGeneratedID, info.MaxDeletedEntryID, info.EntriesAdded)}
	for _, e := range entries {
		// Values is a map: its fields are printed in the order of their names.
		lines = append(lines, fmt.Sprintf("entry %s %q", e.ID, e.Values))
	}
	for _, g := range groups {
		more, err := groupContent(ctx, c, key, g)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

func groupContent(ctx context.Context, c redis.Cmdable, key string, g redis.XInfoGroup) ([]string, error) {
	consumers, err := c.XInfoConsumers(ctx, key, g.Name).Result()
	if err != nil {
		return nil, err
	}
	pending, err := c.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: key, Group: g.Name, Start: "-", End: "+", Count: everything}).Result()
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("group %q at %s, read %d", g.Name, g.LastDeliveredID, g.EntriesRead)}
	for _, m := range consumers {
		lines = append(lines, fmt.Sprintf("group %q consumer %q", g.Name, m.Name))
	}
	for _, p := range pending {
		lines = append(lines, fmt.Sprintf("group %q pending %s of %q, delivered %d", g.Name, p.ID, p.Consumer, p.RetryCount))
	}
	return lines, nil
}
