package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openseckill/seckill/pkg/e2e/ledger"
	"github.com/openseckill/seckill/pkg/seckill"
)

// told are the orders that somebody was told of, by the first answer that named them.
func told(deeds []deed) map[string]deed {
	first := map[string]deed{}
	for _, d := range deeds {
		if id := d.answer.OrderID; id != "" {
			if _, known := first[id]; !known {
				first[id] = d
			}
		}
	}
	return first
}

// redeem shows the receipts of orders that have no row: each then gets one, admitted again or
// rejected as lost. False: there are none.
func (c *crowd) redeem(ctx context.Context, p ledger.Picture) (any bool) {
	for id, d := range told(c.all()) {
		if _, stored := p.Rows[id]; !stored && c.shown(id) != nil {
			any = true
			until(ctx, 5*time.Second, func() bool { return c.askAt(ctx, c.w.apis[0], d.user, look, id).HTTP == http.StatusOK })
		}
	}
	return any
}

// fates follows each order that was accepted to its row. Where Redis may forget, one whose
// receipt was lost on its way, too, may be gone: those are counted.
func (c *crowd) fates(deeds []deed, p ledger.Picture) (forgotten int, found []finding) {
	for id, d := range told(deeds) {
		r, stored := p.Rows[id]
		switch {
		case !stored && c.w.plan.forgets && c.shown(id) == nil:
			forgotten++
		case !stored:
			found = append(found, finding{"fates", fmt.Sprintf("order %s was answered and has no row: %v", id, d), d.user, id})
		case r.User != d.user:
			found = append(found, finding{"fates", fmt.Sprintf("order %s is user %d's, and was told to %d", id, r.User, d.user), d.user, id})
		case r.Status == seckill.Rejected && !c.w.plan.forgets:
			found = append(found, finding{"fates", fmt.Sprintf("order %s was rejected as %s though Redis forgot nothing", id, r.Reason), d.user, id})
		}
	}
	return forgotten, found
}

// early finds answers that a voucher is sold out from before anybody could have bought all of it.
func (c *crowd) early(deeds []deed, p ledger.Picture) (found []finding) {
	if c.w.plan.forgets {
		return nil
	}
	first := told(deeds)
	var bought []time.Duration // when each order was asked for at the earliest; an order that nobody was told of: from the beginning
	for id := range p.Rows {
		at := time.Duration(0)
		if d, known := first[id]; known {
			at = d.called
			for _, earlier := range deeds { // an attempt before may have made it
				if earlier.user == d.user && earlier.kind == buy && earlier.answer.open() {
					at = min(at, earlier.called)
				}
			}
		}
		bought = append(bought, at)
	}
	slices.Sort(bought)
	for _, d := range deeds {
		if d.answer.Code != "SOLD_OUT" {
			continue
		}
		n, _ := slices.BinarySearch(bought, d.ended)
		if n < c.total {
			found = append(found, finding{"early", fmt.Sprintf("sold out after %d of %d units: %v", n, c.total, d), d.user, ""})
		}
	}
	return found
}

// money holds the payments to the orders: what was answered as paid is, once, and what came
// too late is kept.
func (c *crowd) money(ctx context.Context, deeds []deed, p ledger.Picture) (found []finding) {
	paid, late := c.references(ctx, "payment"), c.references(ctx, "late_payment")
	for id, r := range p.Rows {
		ref := "ref-" + id
		if (r.Status == seckill.Paid) != (paid[ref] && !late[ref]) {
			found = append(found, finding{"money", fmt.Sprintf("order %s is %s; payment %v, late %v", id, r.Status, paid[ref], late[ref]), r.User, id})
		}
	}
	for _, d := range deeds {
		if d.kind == pay && (d.answer.Code == "CANCELLED" || d.answer.Code == "REJECTED") && !late["ref-"+d.order] {
			found = append(found, finding{"money", "a payment that came too late is not kept: " + d.String(), d.user, d.order})
		}
	}
	return found
}

func (c *crowd) references(ctx context.Context, table string) map[string]bool {
	refs := map[string]bool{}
	rows, err := c.w.db.QueryContext(ctx, "SELECT reference FROM "+table)
	if err != nil {
		c.w.t.Error(err)
		return refs
	}
	defer rows.Close()
	for rows.Next() {
		var ref string
		if err := rows.Scan(&ref); err != nil {
			c.w.t.Error(err)
		}
		refs[ref] = true
	}
	if err := rows.Err(); err != nil {
		c.w.t.Error(err)
	}
	return refs
}

// lives are what may become of an order.
var lives = []string{"created", "created paid", "created cancelled", "rejected"}

// news holds the outbox to the rows, and the stream of events to the outbox: all of an
// order's life, in its order. What was published before Redis forgot is gone there.
func (c *crowd) news(ctx context.Context, p ledger.Picture) (found []finding) {
	noted, err := c.noted(ctx)
	if err != nil {
		return []finding{{check: "news", text: err.Error()}}
	}
	heard, err := c.heard(ctx)
	if err != nil {
		return []finding{{check: "news", text: err.Error()}}
	}
	for id, r := range p.Rows {
		life := strings.Join(noted[id], " ")
		if !slices.Contains(lives, life) || !strings.HasSuffix(life, string(r.Status)) {
			found = append(found, finding{"news", fmt.Sprintf("the outbox says of order %s, which is %s: %q", id, r.Status, life), r.User, id})
		}
		if events := strings.Join(heard[id], " "); events != life && (!c.w.plan.forgets || !strings.Contains(life, events)) {
			found = append(found, finding{"news", fmt.Sprintf("the events of order %s are %q, and should be %q", id, events, life), r.User, id})
		}
	}
	for id := range noted {
		if _, stored := p.Rows[id]; !stored {
			found = append(found, finding{"news", "the outbox tells of order " + id + ", which has no row", 0, id})
		}
	}
	return found
}

func (c *crowd) noted(ctx context.Context) (map[string][]string, error) {
	rows, err := c.w.db.QueryContext(ctx, "SELECT orders, status FROM order_outbox ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]string{}
	for rows.Next() {
		var orders, status string
		if err := rows.Scan(&orders, &status); err != nil {
			return nil, err
		}
		for one := range strings.SplitSeq(strings.Trim(orders, "[]"), "],[") {
			id, _, _ := strings.Cut(one, ",")
			all[id] = append(all[id], status)
		}
	}
	return all, rows.Err()
}

// heard reads the events; one that was published twice counts once.
func (c *crowd) heard(ctx context.Context) (map[string][]string, error) {
	messages, err := c.w.rdb.XRange(ctx, "seckill:events", "-", "+").Result()
	if err != nil {
		return nil, err
	}
	all, seen := map[string][]string{}, map[any]bool{}
	for _, m := range messages {
		if event := m.Values["event"]; !seen[event] {
			seen[event] = true
			id := m.Values["orderId"].(string)
			all[id] = append(all[id], m.Values["status"].(string))
		}
	}
	return all, nil
}

const (
	knocker = 1_000_000 // a user who asks while all comes to rest
	guest   = 1_000_001 // the first of those who come afterwards
)

func (c *crowd) knock(ctx context.Context) {
	for _, api := range c.w.apis {
		c.askAt(ctx, api, knocker, buy, "")
	}
}

// encore gives a unit back once both apis have long said that there is none, and holds each
// of them to selling it within a second or so.
func (c *crowd) encore(ctx context.Context, p ledger.Picture) (found []finding) {
	for i, api := range c.w.apis {
		user := int64(guest + 2*i)
		for range 4 {
			if c.askAt(ctx, api, user, buy, "").Code != "SOLD_OUT" {
				return nil // there are units left
			}
		}
		order := somebodys(p, i)
		if order.ID == "" {
			return nil
		}
		if a := c.askAt(ctx, c.w.apis[(i+1)%len(c.w.apis)], order.User, cancel, order.ID); a.HTTP != http.StatusOK {
			continue
		}
		if !until(ctx, 5*time.Second, func() bool { return c.askAt(ctx, api, user+1, buy, "").OrderID != "" }) {
			found = append(found, finding{"encore", fmt.Sprintf("%s does not sell the unit that order %s gave back", api.name, order.ID), user + 1, order.ID})
		}
	}
	return found
}

// somebodys is an order that can be cancelled, another one for each i.
func somebodys(p ledger.Picture, i int) (r ledger.Row) {
	var ids []string
	for id, r := range p.Rows {
		if r.Status == seckill.Created {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if i < len(ids) {
		r = p.Rows[ids[len(ids)-1-i]]
	}
	return r
}
