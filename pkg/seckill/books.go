package seckill

// SQLBooks are the books of a voucher in the database, read at one moment.
type SQLBooks struct {
	Total      int64            `json:"total"`
	Stock      int64            `json:"stock"`
	ByStatus   map[Status]int64 `json:"byStatus"`   // rows of each status
	ReleaseDue int64            `json:"releaseDue"` // dead rows whose unit Redis may still count as sold
	Version    int64            `json:"version"`
	Begin      int64            `json:"beginMillis"` // Unix ms, inclusive
	End        int64            `json:"endMillis"`   // Unix ms, exclusive
}

// Live is how many rows hold a unit.
func (b SQLBooks) Live() int64 { return b.ByStatus[Created] + b.ByStatus[Paid] }

// Balanced reports whether stock + live rows = total, which holds at every moment.
func (b SQLBooks) Balanced() bool { return b.Stock >= 0 && b.Stock+b.Live() == b.Total }

// RedisBooks are the books of a voucher in Redis, read at one moment.
type RedisBooks struct {
	State   string `json:"state"` // "open", "loading", "stale" (opened by another server) or "" where there is none
	Total   int64  `json:"total"`
	Stock   int64  `json:"stock"`   // -1: missing or no plain number
	Buyers  int64  `json:"buyers"`  // -1: a key of another type
	Tickets int64  `json:"tickets"` // the same
	Version int64  `json:"version"`
	Begin   int64  `json:"beginMillis"` // Unix ms, inclusive; -1: missing or no plain number
	End     int64  `json:"endMillis"`   // Unix ms, exclusive; the same
}

// Absent reports whether Redis has nothing of the voucher.
func (b RedisBooks) Absent() bool {
	return b == RedisBooks{Total: -1, Stock: -1, Version: -1, Begin: -1, End: -1}
}

// Balanced reports whether stock = max(0, total - buyers) with as many tickets as buyers.
func (b RedisBooks) Balanced() bool {
	return b.Stock == max(0, b.Total-b.Buyers) && b.Tickets == b.Buyers && b.Buyers >= 0
}

// Ticket is a member of a voucher's books as Redis has it, whoever wrote it: a buyer with
// the order id that their ticket names, "" where there is none.
type Ticket struct {
	Buyer string
	Order string
	Odd   bool // at one moment a ticket of nobody among the buyers, or a buyer without one
}
