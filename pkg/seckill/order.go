package seckill

import "time"

// Status is where an order is: queued, then created, then paid or cancelled; or rejected.
type Status string

// The statuses of an order. Queued is never a row: it is a ticket in Redis without one.
const (
	Queued    Status = "queued"
	Created   Status = "created"
	Paid      Status = "paid"
	Cancelled Status = "cancelled"
	Rejected  Status = "rejected"
)

// Live reports whether an order of this status holds a unit.
func (s Status) Live() bool { return s == Created || s == Paid }

// Final reports whether the status never changes again.
func (s Status) Final() bool { return s == Paid || s == Cancelled || s == Rejected }

// Reason says why an order died, or a message was buried.
type Reason string

// The reasons of a dead row or a buried message.
const (
	ReasonDuplicate Reason = "duplicate" // the user has another live order of the voucher
	ReasonShort     Reason = "short"     // the database had no unit left
	ReasonLost      Reason = "lost"      // Redis lost it, and it could not be admitted again
	ReasonMalformed Reason = "malformed" // it can never be stored
	ReasonWornOut   Reason = "worn_out"  // it kills or hangs whoever handles it
	ReasonIDClash   Reason = "id_clash"  // a row of another user or voucher has its id
	ReasonExpired   Reason = "expired"   // of a cancelled order: its time to pay was over
)

// Order is one user's claim on one unit of a voucher.
type Order struct {
	ID         OrderID
	User       UserID
	Voucher    VoucherID
	Status     Status
	Reason     Reason    // of a rejected one, or of one whose time to pay was over
	ReleaseDue bool      // dead, and Redis may still count its unit as sold
	CreatedAt  time.Time // by the database's clock, UTC, whole milliseconds; zero while queued
	ExpiresAt  time.Time // when an unpaid one is cancelled; zero: never
}

// Same reports whether o and p are the same claim: id, user and voucher.
func (o Order) Same(p Order) bool { return o.ID == p.ID && o.User == p.User && o.Voucher == p.Voucher }

// Admission is what the admission script said beside its code.
type Admission struct {
	Order OrderID   // the order the user holds: the one asked for or, with AlreadyOrdered, an earlier one
	Left  int64     // units left after an acceptance
	Begin time.Time // with NotStarted: when the window begins
	Now   time.Time // with NotStarted: the time by Redis' clock, which judges the window
}

// Holder is a user with the order by which they hold a unit in Redis.
type Holder struct {
	User  UserID
	Order OrderID
}

// Delivery is one entry of the order stream as a worker got it.
type Delivery struct {
	Entry     string // id of the stream entry, "1700000000000-0"
	Partition int
	Attempts  int64  // how often Redis delivered it, this time included
	Epoch     int64  // the voucher's epoch as SQL had it before the entry was read; 0: not known
	Order     Order  // what it asks for; of a malformed one, whatever was readable
	Trace     string // W3C traceparent of the request that asked for it, as it stands in the entry; "": none
	Malformed error  // why it can never be stored; nil for a good one
}
