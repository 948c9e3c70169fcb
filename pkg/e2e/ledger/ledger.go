// Package ledger reads the books of a sale in both stores, from outside, and holds them to
// the law of the contract. It is for tests alone.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Ledger is where the books are.
type Ledger struct {
	SQL        *sql.DB
	Redis      redis.UniversalClient
	Partitions int // 0: plain key names
}

// Row is an order as SQL has it.
type Row struct {
	ID     string
	User   int64
	Status seckill.Status
	Reason seckill.Reason
	Due    bool // Redis may still count its unit as sold
	Mortal bool // unpaid, and it expires before long
}

// Picture is all that both stores know of a voucher.
type Picture struct {
	Total, Stock int64
	Rows         map[string]Row
	Unpublished  int64 // changes of orders, of all vouchers

	State   string
	Left    string
	Buyers  []string
	Tickets map[string]string // order by user
	Groups  int               // that read the stream
	Queued  int64             // entries in it, of all vouchers of its partition
	Unread  int64             // of those, read and not settled
}

// Holds reports whether a user has a live order.
func (p Picture) Holds(user int64) bool {
	for _, r := range p.Rows {
		if r.User == user && r.Status.Live() {
			return true
		}
	}
	return false
}

// Read takes a picture: of SQL first, and of Redis at one moment.
func (l *Ledger) Read(ctx context.Context, voucher string) (p Picture, err error) {
	if err := l.fromSQL(ctx, voucher, &p); err != nil {
		return p, err
	}
	return p, l.fromRedis(ctx, voucher, &p)
}

func (l *Ledger) fromSQL(ctx context.Context, voucher string, p *Picture) (err error) {
	err = l.SQL.QueryRowContext(ctx, "SELECT total, stock, (SELECT COUNT(*) FROM order_outbox WHERE published_at IS NULL) FROM seckill_voucher WHERE id = ?", voucher).
		Scan(&p.Total, &p.Stock, &p.Unpublished)
	if err != nil {
		return err
	}
	rows, err := l.SQL.QueryContext(ctx, "SELECT id, user_id, status, reason, release_due, COALESCE(status = 'created' AND expires_at - created_at < 60000, 0) FROM voucher_order WHERE voucher_id = ?", voucher)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	p.Rows = map[string]Row{}
	for rows.Next() {
		var r Row
		if err := rows.Scan(&r.ID, &r.User, &r.Status, &r.Reason, &r.Due, &r.Mortal); err != nil {
			return err
		}
		p.Rows[r.ID] = r
	}
	return rows.Err()
}

// Partition is that of a voucher.
func (l *Ledger) Partition(voucher string) int {
	id, _ := strconv.Atoi(voucher)
	return id % max(1, l.Partitions)
}

// Key is a key of a voucher, as "stock", or what all vouchers of its partition share: "stream".
func (l *Ledger) Key(what, voucher string) string {
	name := "seckill:" + what
	if l.Partitions > 0 {
		name += fmt.Sprintf(":{%d}", l.Partition(voucher))
	}
	if what != "stream" {
		name += ":" + voucher
	}
	return name
}

func (l *Ledger) fromRedis(ctx context.Context, voucher string, p *Picture) error {
	stream, pipe := l.Key("stream", voucher), l.Redis.TxPipeline()
	state, left := pipe.HGet(ctx, l.Key("voucher", voucher), "state"), pipe.Get(ctx, l.Key("stock", voucher))
	buyers, tickets := pipe.SMembers(ctx, l.Key("order", voucher)), pipe.HGetAll(ctx, l.Key("ticket", voucher))
	queued := pipe.XLen(ctx, stream)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	p.State, p.Left, p.Buyers, p.Tickets, p.Queued = state.Val(), left.Val(), buyers.Val(), tickets.Val(), queued.Val()
	groups, err := l.Redis.XInfoGroups(ctx, stream).Result()
	if err != nil && !redis.HasErrorPrefix(err, "no such key") {
		return err
	}
	p.Groups = len(groups)
	for _, g := range groups {
		p.Unread += g.Pending
	}
	return nil
}

// Rest waits until nothing is under way and the books of a voucher hold to the law; its error
// says what does not.
func (l *Ledger) Rest(ctx context.Context, voucher string) (p Picture, err error) {
	err = caller.Until(ctx, func() (bool, error) {
		now, err := l.Read(ctx, voucher)
		if err != nil {
			return false, err
		}
		p = now
		for _, f := range p.Faults() {
			err = errors.Join(err, errors.New(f.Text))
		}
		return err == nil, err
	})
	if err != nil {
		err = fmt.Errorf("voucher %s: %w", voucher, err)
	}
	return p, err
}

// Fault is something that must not be, and whom it is about as far as that is known.
type Fault struct {
	Text  string
	User  int64
	Order string
}

// Faults are what is wrong with the books of a voucher that is at rest: the law of the
// contract, in both stores and between them.
func (p Picture) Faults() (all []Fault) {
	add := func(user int64, order, format string, a ...any) {
		all = append(all, Fault{fmt.Sprintf(format, a...), user, order})
	}
	live, holders := int64(0), map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(p.Rows)) {
		r := p.Rows[id]
		user := strconv.FormatInt(r.User, 10)
		if r.Due {
			add(r.User, id, "a release is due of order %s", id)
		}
		if r.Mortal {
			add(r.User, id, "order %s is about to expire", id)
		}
		if !r.Status.Live() {
			continue
		}
		live++
		if other, twice := holders[user]; twice {
			add(r.User, id, "user %s has two live orders, %s and %s", user, other, id)
		}
		holders[user] = id
		if p.Tickets[user] != id {
			add(r.User, id, "user %s holds order %s, and ticket %q", user, id, p.Tickets[user])
		}
	}
	for user, id := range p.Tickets {
		if holders[user] == "" {
			n, _ := strconv.ParseInt(user, 10, 64)
			add(n, id, "user %s has ticket %s, and no live order", user, id)
		}
	}
	return append(all, p.uneven(live)...)
}

// uneven are the sums that do not add up.
func (p Picture) uneven(live int64) (all []Fault) {
	add := func(format string, a ...any) { all = append(all, Fault{Text: fmt.Sprintf(format, a...)}) }
	if live > p.Total {
		add("oversold: %d live orders of %d units", live, p.Total)
	}
	if p.Stock+live != p.Total {
		add("SQL: stock %d and %d live orders are not the total %d", p.Stock, live, p.Total)
	}
	if p.State != "open" {
		add("Redis has the voucher as %q", p.State)
	}
	if len(p.Buyers) != len(p.Tickets) {
		add("Redis: %d buyers, %d tickets", len(p.Buyers), len(p.Tickets))
	}
	if want := strconv.FormatInt(max(0, p.Total-int64(len(p.Buyers))), 10); p.Left != want {
		add("Redis: stock %q instead of %s, with %d buyers", p.Left, want, len(p.Buyers))
	}
	if p.Groups == 0 {
		add("nobody reads the stream")
	}
	if p.Queued != 0 || p.Unread != 0 {
		add("%d orders wait in the stream, of which %d are read", p.Queued, p.Unread)
	}
	if p.Unpublished != 0 {
		add("%d changes are not published", p.Unpublished)
	}
	return all
}
