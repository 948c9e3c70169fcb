package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// finding is something that must not be, with what it is about as far as that is known.
type finding struct {
	check string // "books", "fates", ...
	text  string
	user  int64
	order string
}

func (f finding) String() string { return f.check + ": " + f.text }

// row is an order as SQL has it.
type row struct {
	id, status, reason string
	user               int64
	due                bool // Redis may still count its unit as sold
	mortal             bool // unpaid, and it expires before long
}

func (r row) live() bool { return r.status == "created" || r.status == "paid" }

func (p picture) holds(user int64) bool {
	for _, r := range p.rows {
		if r.user == user && r.live() {
			return true
		}
	}
	return false
}

// picture is all that both stores know of the voucher.
type picture struct {
	total, stock int64
	rows         map[string]row
	unpublished  int64

	state          string
	left           string
	buyers         []string
	tickets        map[string]string
	queued, unread int64 // entries in the stream; of those, read and not settled
}

func (c *crowd) picture(ctx context.Context) (p picture, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := c.fromSQL(ctx, &p); err != nil {
		return p, err
	}
	return p, c.fromRedis(ctx, &p)
}

func (c *crowd) fromSQL(ctx context.Context, p *picture) error {
	err := c.w.db.QueryRowContext(ctx, "SELECT total, stock, (SELECT COUNT(*) FROM order_outbox WHERE published_at IS NULL) FROM seckill_voucher WHERE id = ?", c.voucher).
		Scan(&p.total, &p.stock, &p.unpublished)
	if err != nil {
		return err
	}
	rows, err := c.w.db.QueryContext(ctx, "SELECT id, user_id, status, reason, release_due, COALESCE(status = 'created' AND expires_at - created_at < 60000, 0) FROM voucher_order WHERE voucher_id = ?", c.voucher)
	if err != nil {
		return err
	}
	defer rows.Close()
	p.rows = map[string]row{}
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.user, &r.status, &r.reason, &r.due, &r.mortal); err != nil {
			return err
		}
		p.rows[r.id] = r
	}
	return rows.Err()
}

func (c *crowd) fromRedis(ctx context.Context, p *picture) error {
	pipe := c.w.rdb.TxPipeline()
	state, left := pipe.HGet(ctx, "seckill:voucher:"+c.voucher, "state"), pipe.Get(ctx, "seckill:stock:"+c.voucher)
	buyers, tickets := pipe.SMembers(ctx, "seckill:order:"+c.voucher), pipe.HGetAll(ctx, "seckill:ticket:"+c.voucher)
	queued := pipe.XLen(ctx, "seckill:stream")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	p.state, p.left, p.buyers, p.tickets, p.queued = state.Val(), left.Val(), buyers.Val(), tickets.Val(), queued.Val()
	groups, err := c.w.rdb.XInfoGroups(ctx, "seckill:stream").Result()
	if err != nil {
		return err
	}
	for _, g := range groups {
		p.unread += g.Pending
	}
	return nil
}

// faults are what is wrong with the books of a voucher that is at rest: the law of the
// contract, in both stores and between them.
func (p picture) faults() (found []finding) {
	fault := func(format string, a ...any) {
		found = append(found, finding{check: "books", text: fmt.Sprintf(format, a...)})
	}
	live, holders := int64(0), map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(p.rows)) {
		r := p.rows[id]
		user := strconv.FormatInt(r.user, 10)
		if r.due {
			found = append(found, finding{"books", "a release is due of order " + id, r.user, id})
		}
		if r.mortal {
			found = append(found, finding{"books", "order " + id + " is about to expire", r.user, id})
		}
		if !r.live() {
			continue
		}
		live++
		if other, twice := holders[user]; twice {
			found = append(found, finding{"books", fmt.Sprintf("user %s has two live orders, %s and %s", user, other, id), r.user, id})
		}
		holders[user] = id
		if p.tickets[user] != id {
			found = append(found, finding{"books", fmt.Sprintf("user %s holds order %s, and ticket %q", user, id, p.tickets[user]), r.user, id})
		}
	}
	for user, id := range p.tickets {
		if holders[user] == "" {
			n, _ := strconv.ParseInt(user, 10, 64)
			found = append(found, finding{"books", fmt.Sprintf("user %s has ticket %s, and no live order", user, id), n, id})
		}
	}
	if live > p.total {
		fault("oversold: %d live orders of %d units", live, p.total)
	}
	if p.stock+live != p.total {
		fault("SQL: stock %d and %d live orders are not the total %d", p.stock, live, p.total)
	}
	if p.state != "open" {
		fault("Redis has the voucher as %q", p.state)
	}
	if len(p.buyers) != len(p.tickets) {
		fault("Redis: %d buyers, %d tickets", len(p.buyers), len(p.tickets))
	}
	if want := strconv.FormatInt(max(0, p.total-int64(len(p.buyers))), 10); p.left != want {
		fault("Redis: stock %q instead of %s, with %d buyers", p.left, want, len(p.buyers))
	}
	if p.queued != 0 || p.unread != 0 {
		fault("%d orders wait in the stream, of which %d are read", p.queued, p.unread)
	}
	if p.unpublished != 0 {
		fault("%d changes are not published", p.unpublished)
	}
	return found
}

// rest waits until nothing is under way and the books balance, while a buyer asks now and
// then: a voucher that Redis lost is loaded for whoever wants it.
func (c *crowd) rest(ctx context.Context, limit time.Duration) (p picture, found []finding) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var asked time.Time
	for {
		if time.Since(asked) > 300*time.Millisecond {
			c.knock(ctx)
			asked = time.Now()
		}
		if now, err := c.picture(ctx); err != nil && len(found) == 0 {
			found = []finding{{check: "books", text: "no picture: " + err.Error()}}
		} else if err == nil {
			p, found = now, now.faults()
		}
		if len(found) == 0 {
			return p, nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return p, found
		}
	}
}
