package seckill

import (
	"cmp"
	"slices"
)

// Outcome is what became of one delivery of an order.
type Outcome string

// The outcomes. Stale is not an end: the order was read before its voucher was rebuilt,
// so it must be looked for in the stream again before it may be stored.
const (
	Stored        Outcome = "stored"
	AlreadyStored Outcome = "already_stored" // a row has this id, user and voucher
	Duplicate     Outcome = "duplicate"      // another live order of this user and voucher
	Short         Outcome = "short"          // the database has no unit left
	IDClash       Outcome = "id_clash"       // a row of another user or voucher has this id
	Malformed     Outcome = "malformed"      // it can never be stored
	WornOut       Outcome = "worn_out"       // that many lone tries never came back
	Busy          Outcome = "busy"           // the user's lock is held elsewhere
	Transient     Outcome = "transient"      // whatever is not known to be permanent
	Stale         Outcome = "stale"
	Lost          Outcome = "lost" // its entry is gone from the stream
)

// Outcomes lists every outcome, for tables that must be complete.
func Outcomes() []Outcome {
	return []Outcome{Stored, AlreadyStored, Duplicate, Short, IDClash, Malformed, WornOut, Busy, Transient, Stale, Lost}
}

// Verdict is the database's answer to one order of a batch: Stored, AlreadyStored,
// Duplicate, Short, IDClash, Malformed or Stale.
type Verdict struct {
	Outcome Outcome
	Row     Order // the row that decided: of AlreadyStored, Duplicate and IDClash
}

// Snapshot is what SQL knows of a voucher at the moment its epoch was raised.
type Snapshot struct {
	Voucher Voucher
	Live    []Holder          // users of live rows with their order ids, by ascending id
	Rows    map[OrderID]Order // those of the other ids asked for that have a row
}

// Stored reports whether an order that was asked for, or is live, has a row.
func (s Snapshot) Stored(id OrderID) bool {
	_, live := slices.BinarySearchFunc(s.Live, id, func(h Holder, id OrderID) int { return cmp.Compare(h.Order, id) })
	_, row := s.Rows[id]
	return live || row
}
