package seckill

import "fmt"

// Report is the books of one voucher. While a sale runs its numbers are read one after the
// other and need not add up; the verdict rests on what stays true meanwhile.
type Report struct {
	Voucher    VoucherID  `json:"voucherId"`
	Redis      RedisBooks `json:"redis"`
	SQL        SQLBooks   `json:"sql"`
	Waiting    int        `json:"waiting"`    // orders in the stream, read or not
	Pending    int64      `json:"pending"`    // entries that workers have in hand, of other vouchers of its partition, too
	Buried     int64      `json:"buried"`     // messages that were buried, of other vouchers of its partition, too
	ReleaseDue int        `json:"releaseDue"` // tickets of dead orders that workers will release
	Drift      []Finding  `json:"drift"`      // what nothing under way explains
	Unlisted   int        `json:"unlisted"`   // more of that, which Drift has no room for
}

// Add notes a finding, and names it while no more than most are.
func (r *Report) Add(f Finding, most int) {
	if len(r.Drift) >= most {
		r.Unlisted++
		return
	}
	f.Remedy = f.Kind.Remedy()
	r.Drift = append(r.Drift, f)
}

// Balanced is the verdict: the voucher sells, each store balances by itself, and every
// user is the same in both, or on the way to be.
func (r Report) Balanced() bool { return len(r.Drift) == 0 }

// AtRest reports whether nothing is under way, and both stores agree to the unit.
func (r Report) AtRest() bool {
	return r.Balanced() && r.Waiting == 0 && r.ReleaseDue == 0 && r.SQL.ReleaseDue == 0 &&
		r.Redis.Stock == r.SQL.Stock && r.Redis.Buyers == r.SQL.Live() &&
		r.Agrees()
}

// Agrees reports whether both stores sell by the same total, version and window.
func (r Report) Agrees() bool {
	return r.Redis.Total == r.SQL.Total && r.Redis.Version == r.SQL.Version &&
		r.Redis.Begin == r.SQL.Begin && r.Redis.End == r.SQL.End
}

// Uneven names what is wrong with the voucher as a whole.
func (r Report) Uneven() (found []Finding) {
	whole := func(k Kind) { found = append(found, Finding{Kind: k, Remedy: k.Remedy()}) }
	switch {
	case r.Redis.State != "open":
		whole(NotLoaded)
	case !r.Redis.Balanced():
		whole(RedisUneven)
	case !r.Agrees():
		whole(OtherVersion)
	}
	if !r.SQL.Balanced() {
		whole(SQLUneven)
	}
	return found
}

// Kind says how Redis and SQL differ about a user.
type Kind string

// The ways to differ.
const (
	DeadTicket   Kind = "dead_ticket"   // the ticket's order is dead: its unit is due back
	OtherLive    Kind = "other_live"    // the ticket's order is dead, and another one is live
	NoTicket     Kind = "no_ticket"     // a live order whose user has no ticket
	WrongTicket  Kind = "wrong_ticket"  // the ticket names another user's or voucher's order
	LostEntry    Kind = "lost_entry"    // the ticket's order has neither a row nor an entry
	NoBuyer      Kind = "no_buyer"      // a ticket whose user is not among the buyers
	ForeignBuyer Kind = "foreign_buyer" // no user id, or a buyer without a ticket or order
	NotLoaded    Kind = "not_loaded"    // the voucher as a whole: Redis does not have it open
	RedisUneven  Kind = "redis_uneven"  // the voucher as a whole: stock, buyers and tickets do not fit its total
	OtherVersion Kind = "other_version" // the voucher as a whole: Redis sells by another total, version or window than SQL's
	SQLUneven    Kind = "sql_uneven"    // the voucher as a whole: stock + live rows are not its total
	NoVoucher    Kind = "no_voucher"    // the voucher as a whole: SQL has orders of it, and not itself
)

// Remedy is what a repair does about a difference.
type Remedy string

// The remedies. Each may be repeated, and changes nothing that has moved since the look.
const (
	RemedyRelease Remedy = "release" // give the unit of the dead order back
	RemedyRequeue Remedy = "requeue" // queue the order again under its id
	RemedyMark    Remedy = "mark"    // let the ticket name the live order
	RemedySync    Remedy = "sync"    // rebuild the voucher from SQL; its sale is closed for that moment
	RemedyNone    Remedy = "none"    // nothing: a person has to look at the database
)

// Remedy is what a repair does about a difference of this kind.
func (k Kind) Remedy() Remedy {
	switch k {
	case DeadTicket:
		return RemedyRelease
	case LostEntry:
		return RemedyRequeue
	case NoTicket, OtherLive:
		return RemedyMark
	case WrongTicket, NoBuyer, ForeignBuyer, NotLoaded, RedisUneven, OtherVersion:
		return RemedySync
	case SQLUneven, NoVoucher:
		return RemedyNone
	}
	return RemedyNone
}

// Finding is one difference between Redis and SQL.
type Finding struct {
	Kind   Kind    `json:"kind"`
	User   UserID  `json:"userId,omitempty"`
	Ticket string  `json:"ticket,omitempty"` // as Redis has it
	Live   OrderID `json:"live,omitempty"`   // the user's live order
	Due    bool    `json:"due,omitempty"`    // the workers know and will release it
	Remedy Remedy  `json:"remedy,omitempty"` // what a repair would do
}

// String is a line for a log.
func (f Finding) String() string {
	text := string(f.Kind)
	if f.User != 0 || f.Ticket != "" {
		text += fmt.Sprintf(": user %s, ticket %q, live order %s", f.User, f.Ticket, f.Live)
	}
	return text + "; repair: " + string(f.Kind.Remedy())
}
