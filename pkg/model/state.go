package model

import "math/bits"

// The most that a configuration may ask for. All fields of a state are bytes, so that it has
// no holes and its hash is one pass over its memory.
const (
	usersMax  = 3
	ordersMax = 4
	copiesMax = 4 // entries of one order that somebody may still refer to
	pageMax   = 2 // changes that are published at a time
)

// What becomes of an order in SQL.
const (
	noRow = iota
	created
	paid
	cancelled
	wornOut // the rejected ones, by reason
	duplicate
	short
	lost
)

func live(row uint8) bool { return row == created || row == paid }
func dead(row uint8) bool { return row >= cancelled }

// Where a voucher is in Redis.
const (
	absent = iota
	loading
	open
)

const noStock = 255 // there is no such key

// redis is all that a fallback brings back. A ticket is an order's number plus one.
type redis struct {
	sale, total, version, token uint8
	stock                       uint8
	buyers                      uint8 // set of users
	ticket                      [usersMax]uint8
	stream                      [ordersMax]uint8 // for each order, the set of its entries; see entry
}

// sql is the database.
type sql struct {
	total, stock, version uint8
	row                   [ordersMax]uint8
	due                   uint8                // orders whose release is due
	late                  uint8                // orders with a payment that came too late
	outbox                [2 * ordersMax]uint8 // unpublished changes by number; see change
}

// state is everything, at one moment. What follows the two stores are the processes, then
// what the rules have to remember.
type state struct {
	redis redis
	past  redis // what Redis may fall back to
	sql   sql

	workers    [2]worker
	releaser   giver
	repairer   repairer
	syncers    [2]syncer
	cutter     changer
	applier    changer
	writer     writer
	publishers [2]publisher
	reader     reader

	admitted [ordersMax]uint8 // how often each order was accepted
	vanished uint8            // accepted orders that Redis lost whole
	buried   uint8
	told     uint8 // published changes, by change
	cursor   uint8 // of a publisher that has one
	frozen   uint8 // whether past is set: 0 no, 1 yes, 2 it was used
	shut     uint8 // 1: a short order has closed the voucher
	since    uint8 // orders accepted after that
	losses   uint8
	raises   uint8
	cuts     uint8
}

func size(set uint8) uint8 { return uint8(bits.OnesCount8(set)) }

func has(set uint8, i int) bool { return set>>i&1 == 1 }

func (r *redis) tickets() (n uint8) {
	for _, t := range r.ticket {
		if t != 0 {
			n++
		}
	}
	return n
}

// left is max(0, total - buyers).
func (r *redis) left() uint8 {
	return r.total - min(r.total, size(r.buyers))
}

func (r *redis) balanced() bool {
	return r.stock == r.left() && size(r.buyers) == r.tickets()
}

func (r *redis) sells() bool { return r.sale == open && r.balanced() }

// waiting is the set of orders that have an entry.
func (r *redis) waiting() (set uint8) {
	for o, copies := range r.stream {
		if copies != 0 {
			set |= 1 << o
		}
	}
	return set
}

// entry names one entry of the stream: an order has more than one where it was queued again.
type entry uint8

func entryOf(order, copy int) entry { return entry(order*copiesMax + copy) }
func (e entry) order() int          { return int(e) / copiesMax }
func (e entry) copy() int           { return int(e) % copiesMax }

func (r *redis) holds(e entry) bool { return has(r.stream[e.order()], e.copy()) }

// liveOf is the live order of a user plus one, 0 if there is none.
func (m *machine) liveOf(s *state, user uint8) uint8 {
	for o, u := range m.buyer {
		if u == user && live(s.sql.row[o]) {
			return uint8(o + 1)
		}
	}
	return 0
}

func (m *machine) liveRows(s *state) (n uint8) {
	for o := range m.buyer {
		if live(s.sql.row[o]) {
			n++
		}
	}
	return n
}
