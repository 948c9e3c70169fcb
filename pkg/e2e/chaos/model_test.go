package chaos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/openseckill/seckill/pkg/e2e/ledger"
	"github.com/openseckill/seckill/pkg/seckill"
)

// holding is what a sequential shop would have on its books for one user.
type holding struct {
	order string // the newest; "" none, unknown: one that nobody was told of yet
	state string // "live", "paid", "dead"
	late  late
}

// late is what was asked for and never answered: it may be done at any time after, or not.
// Payment and cancellation are of the newest order.
type late struct{ buy, pay, cancel bool }

const unknown = "?"

func (h holding) free() bool { return h.order == "" || h.state == "dead" }

func (h holding) in(state string) holding {
	h.state = state
	return h
}

// of is the holding after a purchase.
func (h holding) of(order string) holding { return holding{order, "live", late{buy: h.late.buy}} }

// fate is what happens to orders by themselves, as the final rows tell it: one that expired
// or was rejected in the end may die between any two requests, and no other.
type fate struct {
	rows    map[string]ledger.Row
	forgets bool
	blind   bool // both that say that an order waits were deleted
}

func (f fate) mayDie(order string) bool {
	r, stored := f.rows[order]
	return order == unknown || r.Status == seckill.Rejected || r.Reason == seckill.ReasonExpired || f.forgets && (!stored || r.Status == seckill.Cancelled)
}

// moves are the holdings that may have come of one by itself before the next request.
func (f fate) moves(h holding) []holding {
	all := []holding{h}
	for i := 0; i < len(all) && i < 8; i++ { // as many as there are kinds of moves, and more
		h := all[i]
		if h.free() && h.late.buy {
			all = append(all, h.of(unknown))
		}
		if h.state != "live" {
			continue
		}
		if f.mayDie(h.order) || h.late.cancel {
			all = append(all, h.in("dead"))
		}
		if h.late.pay {
			all = append(all, h.in("paid"))
		}
	}
	return all
}

// request is a deed as the model sees it.
type request struct {
	deed
	fresh bool // the user's order is so new that another node need not have heard of it
	fate  fate
}

// missing says that the order was not found, where that may be.
func (r request) missing() bool {
	return r.answer.Code == "ORDER_NOT_FOUND" && (r.fate.forgets || r.fate.blind)
}

// step are the holdings that a request may leave; none: its answer is wrong.
func (r request) step(h holding) (next []holding) {
	for _, h := range r.fate.moves(h) {
		switch r.kind {
		case buy:
			next = append(next, r.bought(h)...)
		case pay:
			h.late.pay = h.late.pay || r.answer.open() && h.order == r.order
			next = append(next, r.changed(h, "paid")...)
		case cancel:
			h.late.cancel = h.late.cancel || r.answer.open() && h.order == r.order
			next = append(next, r.changed(h, "dead")...)
		case look:
			next = append(next, r.looked(h)...)
		}
	}
	return next
}

func (r request) bought(h holding) []holding {
	a := r.answer
	switch {
	case r.answer.open():
		h.late.buy = true
		return []holding{h}
	case a.HTTP == 202:
		if h.free() || r.fate.forgets && (r.fate.mayDie(h.order) || r.fate.mayDie(a.OrderID)) {
			return []holding{h.of(a.OrderID)}
		}
	case a.HTTP == 200:
		return r.repeated(h)
	case a.Code == "SOLD_OUT":
		if h.free() || r.fresh || r.fate.forgets {
			return []holding{h}
		}
	}
	return nil
}

// repeated is the answer that the user holds an order already.
func (r request) repeated(h holding) []holding {
	id := r.answer.OrderID
	if h.order == unknown || r.fate.forgets && h.order != id {
		h = h.of(id) // nobody was told of its admission, or Redis has another one again
		if s := r.answer.status(); s == "cancelled" || s == "rejected" {
			return []holding{h.in("dead")}
		}
	}
	if h.order != id {
		return nil
	}
	return r.seen(h)
}

// seen holds a status that was told to the state. "queued" is what anybody can say while SQL
// does not answer.
func (r request) seen(h holding) []holding {
	switch status := r.answer.status(); {
	case status == "queued",
		status == "created" && h.state == "live",
		status == "paid" && h.state == "paid",
		(status == "cancelled" || status == "rejected") && h.state == "dead":
		return []holding{h}
	}
	return nil
}

// changed is a payment or a cancellation, which leads to a state, and is refused where the
// other one came first.
func (r request) changed(h holding, to string) []holding {
	a := r.answer
	if h.order == unknown {
		h.order = r.order
	}
	past := h.order != r.order // of an order before; what is held now stays as it is
	state := h.state
	if past {
		state = "dead"
	}
	switch {
	case r.answer.open(),
		a.Code == "PAID" && r.kind == cancel && state == "paid",
		(a.Code == "CANCELLED" || a.Code == "REJECTED") && r.kind == pay && state == "dead",
		a.Code == "QUEUED" && state == "live",
		r.missing(),
		a.HTTP == 200 && state == to:
		return []holding{h}
	case a.HTTP == 200 && state == "live":
		return []holding{h.in(to)}
	}
	return nil
}

func (r request) looked(h holding) []holding {
	a := r.answer
	switch {
	case r.answer.open(), r.missing():
		return []holding{h}
	case a.HTTP != 200:
		return nil
	case h.order == unknown:
		h.order = r.order
	case h.order != r.order:
		if a.status() == "cancelled" || a.status() == "rejected" || r.fate.forgets {
			return []holding{h}
		}
		return nil
	}
	return r.seen(h)
}

var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{holding{}} },
	Step: func(state, input, _ any) (next []any) {
		for _, h := range input.(request).step(state.(holding)) {
			next = append(next, h)
		}
		return next
	},
	DescribeOperation: func(input, _ any) string { return input.(request).String() },
	DescribeState:     func(state any) string { return fmt.Sprint(state) },
}).ToModel()

// history is the deeds of one user for the checker.
func history(deeds []deed, f fate) (ops []porcupine.Operation) {
	const grace = 2 * time.Second // for a message to reach another node, and a second more
	newest := -grace
	for i, d := range deeds {
		ops = append(ops, porcupine.Operation{
			ClientId: i, Input: request{d, d.called-newest < grace, f}, Call: int64(d.called), Return: int64(d.ended),
		})
		if d.kind == buy && d.answer.HTTP == 202 {
			newest = d.ended
		}
	}
	return ops
}

// histories holds what each user was told to a shop that does one thing after the other.
func (c *crowd) histories(deeds []deed, p ledger.Picture) (found []finding) {
	const limit = 5 * time.Second
	f := fate{p.Rows, c.w.plan.forgets, c.w.plan.has("drop-tickets") && c.w.plan.has("drop-stream")}
	by := map[int64][]deed{}
	for _, d := range deeds {
		by[d.user] = append(by[d.user], d)
	}
	for _, user := range slices.Sorted(maps.Keys(by)) {
		switch porcupine.CheckOperationsTimeout(model, history(by[user], f), limit) {
		case porcupine.Ok:
		case porcupine.Illegal:
			found = append(found, finding{"history", fmt.Sprintf("no shop that does one thing after the other answers user %d so", user), user, ""})
		case porcupine.Unknown:
			c.w.tale.add(c.w.since(), "the history of user %d is too long to judge", user)
		}
	}
	return found
}
